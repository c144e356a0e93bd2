/**
 * How hard a host holds on to a task when memory runs out. Follows from the precedence alone, which is what everybody
 * else goes by when there is too little of something.
 */
export const QOS_CLASSES = ['revocable', 'burstable', 'guaranteed'] as const;
export type QosClass = (typeof QOS_CLASSES)[number];

/** The default precedence, 50, lies in the middle. */
const BURSTABLE_FROM = 25;
const GUARANTEED_FROM = 75;

export function qosOf(precedence: number): QosClass {
  if (precedence >= GUARANTEED_FROM) return 'guaranteed';
  return precedence >= BURSTABLE_FROM ? 'burstable' : 'revocable';
}

const OOM_SCORES: Readonly<Record<QosClass, number>> = { revocable: 1_000, burstable: 500, guaranteed: 0 };

/**
 * Whom the kernel takes first when no agent is there to choose. It may only be raised, so it is never below the agent's own.
 * @returns undefined where there is nothing to raise
 */
export function oomScoreOf(precedence: number, own: number): number | undefined {
  const wanted = OOM_SCORES[qosOf(precedence)];
  return wanted > own ? wanted : undefined;
}

/** What one allocation uses of a host's memory. */
export interface MemoryUse {
  readonly id: string;
  readonly precedence: number;
  readonly usedBytes: number;
  readonly requestedBytes: number;
  readonly startedAtMs: number;
}

/** Of what the host gives away: the kernel begins at all of it, and a kill takes a while. */
const KILL_SHARE = 0.85;
/** Where the machine is stalled already. Below that it is not the tasks' sum that it lacks memory for. */
const STALLED_SHARE = 0.75;

/**
 * Who is to go so that the rest keeps its memory: of the lowest class; in it who is furthest above what it asked for, then
 * the youngest. Who is guaranteed and keeps to what it asked for is never chosen.
 * @param stalled so much time is lost to waiting for memory that it begins earlier
 * @returns null while there is enough
 */
export function chooseVictim(
  uses: readonly MemoryUse[],
  allocatableBytes: number,
  stalled = false,
): MemoryUse | null {
  const total = uses.reduce((sum, use) => sum + use.usedBytes, 0);
  if (total < allocatableBytes * (stalled ? STALLED_SHARE : KILL_SHARE)) return null;
  const candidates = uses.filter(
    (use) => qosOf(use.precedence) !== 'guaranteed' || use.usedBytes > use.requestedBytes,
  );
  return [...candidates].sort(before)[0] ?? null;
}

function before(a: MemoryUse, b: MemoryUse): number {
  const classes = QOS_CLASSES.indexOf(qosOf(a.precedence)) - QOS_CLASSES.indexOf(qosOf(b.precedence));
  if (classes !== 0) return classes;
  const shares = shareOf(b) - shareOf(a);
  return shares !== 0 ? shares : b.startedAtMs - a.startedAtMs;
}

function shareOf(use: MemoryUse): number {
  return use.usedBytes / Math.max(1, use.requestedBytes);
}
