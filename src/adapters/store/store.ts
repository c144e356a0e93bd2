/**
 * What every cell store does alike, whatever holds the data: etcd, memory, the simulated store.
 *
 * 1. `store.ts` refuses an attempt that is over the limits, before anything is sent.
 * 2. `identity.ts` compares each reply with what was known when its call was made: another cluster, or an older revision,
 *    makes the store unusable.
 * 3. `session.ts` renews a lease and declares it lost before the server does.
 */
import type { Attempt, StoreLimits } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';

/** etcd's own defaults (`--max-txn-ops`, `--max-request-bytes`), less a third of the bytes for framing. */
export const DEFAULT_STORE_LIMITS: StoreLimits = { operationsMax: 128, bytesMax: 1024 * 1024 };

/** The longest UTF-8 form of one UTF-16 unit. */
const UTF8_BYTES_MAX = 3;

/** @throws StoreError `too-large` when the attempt is over the limits */
export function checkAttempt(attempt: Attempt, limits: StoreLimits): void {
  const compares = attempt.compares.length + (attempt.empty?.length ?? 0);
  const operations = Math.max(compares, attempt.writes.length, attempt.readBack.length);
  if (operations > limits.operationsMax)
    throw tooLarge(`${String(operations)} operations, at most ${String(limits.operationsMax)}`);
  if (sizeOf(attempt, (text) => text.length * UTF8_BYTES_MAX) <= limits.bytesMax) return;
  const bytes = sizeOf(attempt, (text) => Buffer.byteLength(text));
  if (bytes > limits.bytesMax) throw tooLarge(`${String(bytes)} bytes, at most ${String(limits.bytesMax)}`);
}

function tooLarge(message: string): StoreError {
  return new StoreError('too-large', `attempt too large: ${message}`, { retryable: false });
}

function sizeOf(attempt: Attempt, size: (text: string) => number): number {
  let sum = 0;
  for (const compare of attempt.compares) sum += size(compare.key);
  for (const prefix of attempt.empty ?? []) sum += 2 * size(prefix);
  for (const write of attempt.writes) sum += size(write.key) + (write.kind === 'put' ? size(write.value) : 0);
  for (const key of attempt.readBack) sum += size(key);
  return sum;
}
