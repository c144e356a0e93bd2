import type { Host } from '../src/core/host/host.ts';
import type { AllocationTable } from './allocation-table.ts';
import type { OciRuntimeName } from './drivers/oci-runtime.ts';
import type { TaskPorts } from './drivers/task-tools.ts';
import type { Gate } from './gate.ts';
import type { InputHolders } from './input-holders.ts';
import type { Journal } from './journal.ts';
import type { Lent } from './lent.ts';
import type { Orphans } from './orphans.ts';
import type { ShimLinks } from './shim-links.ts';
import type { Signals } from './signals.ts';
import type { StateDisk } from './state-disk.ts';
import type { TaskSettings } from './task-run.ts';

export interface AgentSettings extends Omit<TaskSettings, 'stateId'> {
  /** For how long a control group of another state folder must be seen empty to be nobody's any more. */
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
  /** Control group under which those of tasks are made; absent: the root of each hierarchy. */
  readonly cgroupParent?: string;
  /** Container runtimes to try, the best first. Default: all that are known. */
  readonly ociRuntimes?: readonly OciRuntimeName[];
}

/** What the parts of an agent share. */
export interface Desk {
  readonly ports: TaskPorts;
  readonly disk: StateDisk;
  readonly settings: AgentSettings & TaskSettings;
  readonly journal: Journal;
  readonly gate: Gate;
  readonly table: AllocationTable;
  readonly orphans: Orphans;
  readonly links: ShimLinks;
  readonly signals: Signals;
  readonly holders: InputHolders;
  readonly lent: Lent;
  /** Does this host take no new work, because too much was left behind on it? */
  isClosed(): boolean;
  host(): Host;
}
