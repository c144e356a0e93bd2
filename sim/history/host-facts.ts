import type { Exit } from '../../src/core/cell/allocation.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { TicketBody } from '../../src/core/quota/ticket.ts';
import type { ProcessIdentity } from '../../src/ports/process.ts';
import type { StartRequest, StopRequest } from '../../src/wire/api/host-api.ts';

/**
 * What happened on a host, as its own kernel saw it: the witness that no role can talk to. `attempt` is the attempt's name,
 * `<allocation>.<task>.<n>`.
 */
export type HostFact =
  /** The machine is up with this boot id; everything of an earlier boot is gone. */
  | { readonly kind: 'boot'; readonly host: string; readonly boot: string }
  /** Power is lost: nothing runs, and what was not synced is gone. */
  | { readonly kind: 'power-off'; readonly host: string }
  /** A shim has the attempt. */
  | {
      readonly kind: 'claimed';
      readonly host: string;
      readonly attempt: string;
      readonly shim: ProcessIdentity;
    }
  /** The task's process runs: the command was executed. */
  | {
      readonly kind: 'started';
      readonly host: string;
      readonly attempt: string;
      readonly process: ProcessIdentity;
      /** The devices that its environment names, by index; absent: none. */
      readonly gpus?: readonly number[];
    }
  /** It has ended, with this wait status; `lost` when no parent was there to take it. */
  | {
      readonly kind: 'ended';
      readonly host: string;
      readonly attempt: string;
      readonly process: ProcessIdentity;
      readonly exit: Exit;
    }
  | { readonly kind: 'shim-gone'; readonly host: string; readonly attempt: string }
  /** A signal or a kill reached this process. `by` is the attempt for which it was asked. */
  | {
      readonly kind: 'signalled';
      readonly host: string;
      readonly by: string;
      readonly process: ProcessIdentity;
      /** The attempt that the process really belongs to; null: none. */
      readonly owner: string | null;
      readonly signal: string;
    }
  | (PlaceOnHost & { readonly kind: 'bound' })
  | (PlaceOnHost & { readonly kind: 'freed' })
  /** To its stdout; `offset` counts over all attempts. Not kept: its disk did not take it. */
  | {
      readonly kind: 'wrote';
      readonly host: string;
      readonly attempt: string;
      readonly offset: number;
      readonly text: string;
      readonly isKept: boolean;
    }
  /** Of the attempt's output nothing before `until` is kept any more. */
  | { readonly kind: 'gave-up'; readonly host: string; readonly attempt: string; readonly until: number }
  /** Writes of this host's disk fail from now on, with this code; null: they succeed again. */
  | { readonly kind: 'disk'; readonly host: string; readonly fault: string | null };

/** A port by its number, or an address of the host's pool, and the attempt that has it. */
interface PlaceOnHost {
  readonly host: string;
  readonly what: 'port' | 'address';
  readonly name: string;
  readonly attempt: string;
}

/** An order that reached a host's agent, and what the agent answered; recorded where the agent's handler is called. */
export type OrderFact = OrderHead &
  (
    | {
        readonly kind: 'start';
        readonly request: StartRequest;
        /** The body of the ticket, when there was one that is signed by a key of this cell. */
        readonly ticket: TicketBody | null;
      }
    | { readonly kind: 'stop'; readonly id: string; readonly request: StopRequest }
    | { readonly kind: 'remove'; readonly id: string; readonly commandId: string }
  );

export interface OrderHead {
  readonly host: string;
  readonly boot: string;
  /** Incarnation of the agent that took the order. */
  readonly incarnation: number;
  /** The host's own wall clock, which may be wrong, when the order came. */
  readonly hostNowMs: number;
}

/** null: the agent died before it answered. */
export interface OrderAnswer {
  readonly status: number;
  /** Of the Problem, when it is one. */
  readonly code: string | null;
  readonly report: AllocationReport | null;
}
