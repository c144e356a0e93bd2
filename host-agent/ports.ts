import type { Epoch } from '../src/core/cell/epoch.ts';
import type { ArtifactSource } from '../src/ports/artifacts.ts';
import type { Cgroups } from '../src/ports/cgroups.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Commands } from '../src/ports/commands.ts';
import type { Disk } from '../src/ports/disk.ts';
import type { Probes } from '../src/ports/probes.ts';
import type { Processes } from '../src/ports/process.ts';
import type { Random } from '../src/ports/random.ts';
import type { Log, Metrics, Tracer } from '../src/ports/telemetry.ts';
import type { AskFetchSlice } from './artifacts/fetch-pace.ts';
import type { KnownNames } from './names/names.ts';
import type { HeldRestarts } from './tasks/held-restarts.ts';

/** What tasks want of names. */
export type TaskNames = Pick<KnownNames, 'pin' | 'now' | 'onTold'>;

/** Sends a signal to a task, once for each command id. */
export interface SignalSender {
  /** @returns the system's error number; null when its target had ended @throws DiskError */
  readonly send: (name: string, commandId: string, signal: string) => Promise<number | null>;
}

/** Whether the store has come as far as the epoch on this host. @throws StoreError */
export type AskEpoch = (host: string, epoch: Epoch) => Promise<boolean>;

/** The world as a host-agent sees it. */
export interface AgentPorts {
  readonly disk: Disk;
  readonly processes: Processes;
  /** Absent: tasks are held to nothing. */
  readonly cgroups?: Cgroups;
  /** Absent: tasks are plain processes, whatever they ask for. */
  readonly commands?: Commands;
  /** Absent: tasks get no files but what the host has by itself. */
  readonly artifacts?: ArtifactSource;
  /** Absent: artifacts are fetched as fast as they come. */
  readonly fetchSlices?: AskFetchSlice;
  /** Absent: no task is checked, and each is ready as soon as it runs. */
  readonly probes?: Probes;
  /** Absent: tasks are told of no endpoints. */
  readonly names?: TaskNames;
  /** Absent: no operator holds back restarts. */
  readonly restarts?: HeldRestarts;
  /** Absent: whatever epoch an order has is taken for one of the store's, since its callers are trusted. */
  readonly epochs?: AskEpoch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
}
