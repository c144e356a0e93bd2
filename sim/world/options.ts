import type { RunReport } from '../checkers/checkers.ts';
import type { Violation } from '../checkers/replay/violations.ts';
import type { History } from '../history/history.ts';
import type { Fault } from '../nemesis/fault.ts';
import type { FaultSettings } from '../nemesis/random-faults.ts';
import type { TraceSink } from '../agenda/trace.ts';
import type { Scenario } from './scenario.ts';
import type { Request } from '../actor/client.ts';

/** Kills the actor just before the event of this index happens; it is started again after `downMs`. */
export interface KillAt {
  readonly actor: string;
  readonly eventIndex: number;
  /** Default 1,000. */
  readonly downMs?: number;
}

export interface WorldOptions {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly faults: FaultSettings;
  /** Exactly these faults instead of those that would be drawn. All must be over by `scenario.activeMs`. */
  readonly faultPlan?: readonly Fault[];
  /** Clients ask exactly for this instead of what would be drawn. */
  readonly requests?: readonly Request[];
  readonly killAt?: KillAt;
  /** false: the history is not checked. Default true. */
  readonly check?: boolean;
  readonly trace?: TraceSink;
  /** Called before each event with its index, counted from 0, and the actor whose event it is. */
  readonly onEvent?: (index: number, actor: string) => void;
}

export interface WorkDone {
  /** Requests that clients made, and those of them that were acknowledged. */
  readonly submitted: number;
  readonly acknowledged: number;
  /** Allocations made durable. */
  readonly committed: number;
  /** Processes of tasks. */
  readonly started: number;
  readonly ended: number;
  /** Outcomes written. */
  readonly outcomes: number;
}

export interface WorldResult {
  readonly seed: number;
  /** Agenda events that happened. */
  readonly events: number;
  /** Equal for equal options, in any process. */
  readonly traceHash: string;
  /** Virtual time. */
  readonly endedAtMs: number;
  readonly history: History;
  /** The faults that there were: as drawn, or as given. */
  readonly faultPlan: readonly Fault[];
  readonly requests: readonly Request[];
  readonly work: WorkDone;
  readonly violations: readonly Violation[];
  /** What the checkers say; null when they were not asked. */
  readonly report: RunReport | null;
  /** The first errors that roles logged. */
  readonly errors: readonly string[];
}
