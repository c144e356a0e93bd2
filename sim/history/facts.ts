import type { Job } from '../../src/core/cell/job.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Endpoint } from '../../src/core/names/endpoints.ts';
import type { RoleKind } from '../../src/core/cell/cell.ts';
import type { TicketBody } from '../../src/core/quota/ticket.ts';
import type { CellEvent, RunExit } from '../../src/wire/api/monitor-api.ts';

/** An actor: a role's process by its id (`service-1`, `host-3`, `monitor-2`), `client-1`, `operator`, or `reaper`. */
export type ActorKind = RoleKind | 'client';

/** The life of an actor. Each start is an instance of its own, counted from 1. */
export interface ActorFact {
  readonly actor: string;
  readonly role: ActorKind;
  readonly instance: number;
  /** `killed`: without a chance to do anything more. `paused`, `resumed`: SIGSTOP and SIGCONT. */
  readonly change: 'started' | 'killed' | 'failed' | 'paused' | 'resumed';
}

/** What a client asked of the cell's API; the answer comes as an `ApiAnswer` with the number of this call. */
export type ApiCall =
  /** A one-off run. */
  | { readonly kind: 'run'; readonly client: string; readonly key: string; readonly job: Job }
  | { readonly kind: 'submit'; readonly client: string; readonly job: Job }
  | { readonly kind: 'stop'; readonly client: string; readonly namespace: string; readonly job: string };

/**
 * `ok`: acknowledged; `job` is the name that the cell gave. `fail`: surely not done. `unknown`: no answer, or one that says
 * so.
 */
export type ApiAnswer =
  | { readonly result: 'ok'; readonly job: string; readonly version: number | null }
  | { readonly result: 'fail'; readonly status: number; readonly code: string }
  | { readonly result: 'unknown'; readonly why: string };

/** A ticket, at the moment at which an arbiter signed it. `arbiterNowMs` is the arbiter's own clock. */
export interface GrantFact {
  readonly arbiter: string;
  readonly body: TicketBody;
  readonly arbiterNowMs: number;
}

/** One host in a monitor's view. */
export interface SeenHost {
  readonly host: string;
  readonly incarnation: number;
  readonly seq: number;
  readonly asOfMs: number | null;
  readonly staleSinceMs: number | null;
  readonly reports: readonly AllocationReport[];
}

/** What a monitor would answer at this moment. Taken now and then, and of every monitor at the end of the quiet period. */
export interface ViewFact {
  readonly monitor: string;
  /** Instance of the monitor: a view begins anew with each. */
  readonly instance: number;
  readonly complete: boolean;
  readonly hosts: readonly SeenHost[];
}

/** What an agent reports of its own host at the end of the quiet period: the views must be equal to it. */
export interface ListingFact {
  readonly host: string;
  readonly incarnation: number;
  readonly seq: number;
  readonly reports: readonly AllocationReport[];
}

/**
 * An event as a client read it. `stream`: the connection, from 1; each continues after the last event of the store that came
 * before it (`EventCursor`).
 */
export type EventFact = { readonly client: string; readonly stream: number } & (
  | { readonly event: CellEvent }
  /** It had asked for what comes from now on, and the monitor was at this place of the store's changes. */
  | { readonly began: string }
);

/**
 * What a client read of the stdout of an allocation's task: that it begins to ask for it, at offset 0; bytes from an offset on; that
 * there is no more of them; or why it was refused, upon which it asks again, but for output that is gone (`log-gone`).
 */
export type OutputFact = { readonly reader: string; readonly allocation: string } & (
  | { readonly asks: true }
  | { readonly offset: number; readonly text: string }
  | { readonly isOver: true }
  | { readonly refused: string }
);

/** How a job ended, as answered to a client that waited for it. */
export interface ExitFact {
  readonly client: string;
  readonly namespace: string;
  readonly job: string;
  readonly exit: RunExit;
}

/** What a host's agent would tell its tasks of a name at this moment. Taken every half second. */
export interface NameFact {
  readonly host: string;
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /** It says that it has not heard of a monitor for a while. */
  readonly isStale: boolean;
}

/**
 * One fault of the plan, or a setting by which faults happen at random until the quiet period. `fault` is its number, of the plan's first; `what`
 * names it: `cut host-2 from monitor-1`.
 */
export interface NemesisFact {
  readonly fault: number;
  readonly kind: string;
  readonly phase: 'begin' | 'end';
  /** Actors and hosts that it is about; none: the whole network or store. */
  readonly targets: readonly string[];
  readonly what: string;
  /** None of the plan. */
  readonly byChance?: true;
}

/** `quiet`: all faults are over from here on. `end`: nothing is recorded after it. */
export type PhaseFact = { readonly phase: 'quiet' } | { readonly phase: 'end' };
