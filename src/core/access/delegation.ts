import { canonicalJson } from '../json/canonical-json.ts';
import { CLOCK_TOLERANCE_MS } from '../quota/ticket.ts';

/** What a monitor asks of a host for somebody else. */
export const DELEGATED_ACTS = ['exec', 'command', 'signal', 'attach', 'logs'] as const;
export type DelegatedAct = (typeof DELEGATED_ACTS)[number];

/** Of these the host keeps a line in its log: they change something inside a task. */
export const ENTERING_ACTS: ReadonlySet<DelegatedAct> = new Set(['exec', 'signal', 'attach']);

/** What a monitor signs: a right of the one who asked it, passed on to one host, for one thing, for a short time. */
export interface Delegation {
  /** For whom: `token/<id>`, `operator/<id>`. */
  readonly by: string;
  /** The host that may take it. */
  readonly host: string;
  readonly allocation: string;
  readonly act: DelegatedAct;
  /** SHA-256 of `askedText`. */
  readonly request: string;
  readonly notBeforeMs: number;
  readonly expiresMs: number;
}

/** What a host is asked, in the terms of a delegation. */
export type DelegatedAsk = Pick<Delegation, 'host' | 'allocation' | 'act' | 'request'>;

/** A call goes out at once; a host waits for no monitor. */
export const DELEGATION_TTL_MS = 10_000;

export interface Asked {
  /** The command of which the path tells. */
  readonly command?: string;
  readonly query: Readonly<Record<string, string>>;
  /** Absent, and null: there is none. */
  readonly body?: unknown;
}

/** All of a request that is neither its act nor its allocation, in one spelling. */
export function askedText({ command, query, body }: Asked): string {
  return canonicalJson([command ?? null, query, body ?? null]);
}

export type DelegationRefusal =
  | 'other-host'
  | 'other-allocation'
  | 'other-act'
  | 'other-request'
  | 'counts-too-long'
  | 'not-yet-valid'
  | 'expired';

/**
 * Does the delegation let this be done, now? The caller has checked who signed it.
 * @param nowMs the host's wall clock, never below its persisted high-water mark
 * @returns the first reason against it; null when it does
 */
export function delegationRefusal(
  delegation: Delegation,
  ask: DelegatedAsk,
  nowMs: number,
): DelegationRefusal | null {
  if (delegation.host !== ask.host) return 'other-host';
  if (delegation.allocation !== ask.allocation) return 'other-allocation';
  if (delegation.act !== ask.act) return 'other-act';
  if (delegation.request !== ask.request) return 'other-request';
  if (delegation.expiresMs - delegation.notBeforeMs > DELEGATION_TTL_MS) return 'counts-too-long';
  if (nowMs < delegation.notBeforeMs - CLOCK_TOLERANCE_MS) return 'not-yet-valid';
  return nowMs > delegation.expiresMs + CLOCK_TOLERANCE_MS ? 'expired' : null;
}
