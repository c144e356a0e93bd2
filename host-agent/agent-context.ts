import type { Allowance } from '../src/core/host/allowances.ts';
import type { Host } from '../src/core/host/host.ts';
import type { AllocationTable } from './allocations/allocation-table.ts';
import type { VolumeDriverCommand } from './volumes/volume-driver.ts';
import type { AnnouncedVolume } from './volumes/volumes.ts';
import type { OciRuntimeName } from './drivers/oci-runtime.ts';
import type { TaskPorts } from './drivers/drivers.ts';
import type { Admission } from './orders/admission.ts';
import type { InputHolders } from './io/input-holders.ts';
import type { Journal } from './state/journal.ts';
import type { Leases } from './leases/leases.ts';
import type { DeviceNode } from './limits/limits.ts';
import type { UserRange } from './leases/task-users.ts';
import type { Orphans } from './recovery/orphans.ts';
import type { ShimLinks } from './io/shim-links.ts';
import type { Signals } from './io/signals.ts';
import type { StateDisk } from './state/state-disk.ts';
import type { TaskSettings } from './tasks/tasks.ts';

export interface AgentSettings extends Omit<TaskSettings, 'stateId'> {
  /** For how long a control group of another state folder must be seen empty to count as abandoned. */
  readonly desertedMs: number;
  /** With less than this left on the disk nothing new is started. */
  readonly freeBytesMin: number;
  /** Allocations with a record here: bounds memory, and the size of a full report. */
  readonly allocationsMax: number;
  /** What the artifacts kept for tasks may take of the disk. */
  readonly artifactBytesMax: number;
  /** Addresses of this machine to lend to tasks. */
  readonly addresses: readonly string[];
  /** How long a port or an address rests after it was freed, while there is another one. */
  readonly leaseRestMs: number;
  /** Users for tasks; absent: a range that follows from the state folder's id. */
  readonly taskUids?: UserRange;
  /** Ids for user namespaces of tasks; absent: as `taskUids`. */
  readonly taskIds?: UserRange;
  /** The compiled shim, when this agent may give tasks users of their own. */
  readonly shim?: string;
  /** The shim can make a filter of system calls. Default false. */
  readonly filters?: boolean;
  /** What a task may ask beyond being a stranger here. Default: what all hosts allow. */
  readonly allow?: readonly Allowance[];
  /** Of each GPU, in their order; absent: no nodes are known of any, and tasks open what the machine lets them open. */
  readonly gpuNodes?: readonly (readonly DeviceNode[])[];
  /** Folders of the operator's that are announced as volumes. Default: none. */
  readonly volumes?: ReadonlyMap<string, AnnouncedVolume>;
  /** Programs that bring volumes of scope `global`, by name. Default: none. */
  readonly volumeDrivers?: ReadonlyMap<string, VolumeDriverCommand>;
  /** Control group under which those of tasks are made; absent: the root of each hierarchy. */
  readonly cgroupParent?: string;
  /** Container runtimes to try, the best first. Default: all that are known. */
  readonly ociRuntimes?: readonly OciRuntimeName[];
}

/** What the parts of an agent share. */
export interface AgentContext {
  readonly ports: TaskPorts;
  readonly disk: StateDisk;
  readonly settings: AgentSettings & TaskSettings;
  readonly journal: Journal;
  readonly admission: Admission;
  readonly table: AllocationTable;
  readonly orphans: Orphans;
  readonly links: ShimLinks;
  readonly signals: Signals;
  readonly holders: InputHolders;
  readonly leases: Leases;
  /** Does this host take no new work, because too much was left behind on it? */
  isClosed(): boolean;
  host(): Host;
}
