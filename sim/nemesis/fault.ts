/**
 * What can be done to a world. A fault plan is a list of these: plain data, so that a run can be repeated with some of
 * them left out. Each begins at `atMs` and is over after `durationMs`.
 *
 * `target` is an actor (`batch-1`, `host-2`, `monitor-1`, `arbiter-1`, `client-1`, `store`), for a machine's faults the host.
 */
export const FAULT_KINDS = [
  /** kill -9 of a role; it is started again at the end. Of a host's agent: tasks live on. */
  'kill',
  /** SIGSTOP, SIGCONT. Of the store: nothing is answered, and what was asked is done at the end. */
  'pause',
  /** The host's machine is paused with all that runs on it, but for its clocks. */
  'freeze-host',
  /** Power is lost; the machine boots at the end. */
  'reboot',
  /** Messages between target and `other` are lost; `cut-from`: only those that the target sends. */
  'cut',
  'cut-from',
  /** All messages from and to the target are lost. */
  'isolate',
  /** All open connections between target and `other` are reset, once. */
  'break-connections',
  /** Every message takes up to `amount` ms. */
  'slow-network',
  /** This share of the messages is lost; arrives twice. */
  'lossy-network',
  'doubling-network',
  /** No leader: calls fail at once. */
  'store-down',
  /** Writes that add something are refused. */
  'store-full',
  /**
   * The store is down; at the end it is what it was `amount` ms before the beginning (`code` `gang-open`: at a moment from
   * then on at which a gang was reserved), or empty. It is another cluster then and its revisions go back; bumped, it keeps its id and
   * revisions continue; `restore-same-id`, the operator's mistake, keeps the id while revisions go back. All last longer than any
   * session (`docs/restoring.md`).
   */
  'restore',
  'restore-bumped',
  'restore-same-id',
  'store-lost',
  /** Answers to this share of the attempts are lost; requests are; they land late. */
  'replies-lost',
  'requests-lost',
  'attempts-late',
  /** This share of the reads fails. */
  'reads-fail',
  /** This share of the changes reaches followers up to 3 s late. */
  'watches-lag',
  /** This share of the changes breaks the watch that was to deliver it. */
  'watches-break',
  /** The past is forgotten at once and all watches end. */
  'compact',
  /** Leases live up to `amount` ms longer than they should. */
  'leases-late',
  /** All leases of the target end at once, though it renewed them. */
  'lease-lost',
  /** Writes on the target's disk fail; `code` says how. */
  'disk-fails',
  /** Writes take `amount` times as long. */
  'disk-slow',
  /** Reads of the target's disk take up to `amount` ms, and return what was there at the call; `output-slow`: only of output. */
  'reads-slow',
  'output-slow',
  /** The target's wall clock is set by `amount` ms, and back at the end. */
  'clock-step',
  /** The target's clocks run at this rate. */
  'clock-rate',
  /** This share of the task starts fails; they take `amount` times as long; no process can be made. */
  'starts-fail',
  'starts-slow',
  'no-processes',
  /** A shim on the target dies, its task lives on. */
  'shim-dies',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** Faults that restore the store or lose it. */
export const RESTORES: ReadonlySet<FaultKind> = new Set([
  'restore',
  'restore-bumped',
  'restore-same-id',
  'store-lost',
]);

/** Of `disk-fails` how, of a restore to what. */
export const FAULT_CODES = ['full', 'read-only', 'io', 'gang-open'] as const;

export interface Fault {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly durationMs: number;
  /** Empty for faults of the whole network or store. */
  readonly target: string;
  readonly other?: string;
  /** In the kind's own unit. */
  readonly amount?: number;
  readonly code?: (typeof FAULT_CODES)[number];
}

/** The fault in words: `cut host-2 monitor-1`. */
export function wordsOf({ kind, target, other, amount, code }: Fault): string {
  const parts = [kind, target, other, amount?.toString(), code];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}
