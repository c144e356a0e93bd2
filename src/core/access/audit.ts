/** Who did something to the cell: one record for each request that changes it or enters a task. */
export interface AuditRecord {
  readonly id: string;
  readonly atMs: number;
  /** That took the request. */
  readonly monitor: string;
  /** As the client names it, or as the monitor does: in the answer's `x-request-id`. */
  readonly requestId: string;
  /** `operator/ann`, `token/<id>` */
  readonly by: string;
  /** Of a token: whom it was made for. */
  readonly name?: string;
  /** `submit`, `stop`, `exec`, ... */
  readonly act: string;
  /** To what: a job, a host, an allocation, ... */
  readonly target: string;
  readonly namespace?: string;
  /** What else there is to say in a few words. */
  readonly detail?: string;
  /** Why nothing was done, as a problem's code. Absent: it was done, or its monitor died before it answered. */
  readonly refused?: string;
}

/** Of one cell: some megabytes. */
export const AUDIT_RECORDS_MAX = 20_000;
export const AUDIT_AGE_MAX_MS = 90 * 24 * 3_600_000;

/**
 * The records that are to go: the too old, and the oldest of those who have the most, so that nobody can push out what others
 * did by doing much.
 * @param records oldest first
 */
export function surplusRecords(
  records: readonly AuditRecord[],
  nowMs: number,
  max = AUDIT_RECORDS_MAX,
): readonly AuditRecord[] {
  const counts = new Map<string, number>();
  const young = ({ atMs }: AuditRecord): boolean => nowMs - atMs <= AUDIT_AGE_MAX_MS;
  for (const record of records) if (young(record)) counts.set(record.by, (counts.get(record.by) ?? 0) + 1);
  const share = fairShare([...counts.values()], max);
  return records.filter((record) => {
    if (!young(record)) return true;
    const rest = counts.get(record.by) ?? 0;
    counts.set(record.by, rest - 1);
    return rest > share;
  });
}

/** The most that each may have, so that all of them together have no more than `max`. */
function fairShare(counts: readonly number[], max: number): number {
  let rest = max;
  const rising = [...counts].sort((a, b) => a - b);
  for (const [i, count] of rising.entries()) {
    const share = Math.floor(rest / (rising.length - i));
    if (count > share) return share;
    rest -= count;
  }
  return max;
}
