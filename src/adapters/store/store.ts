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
  if (unitsOf(attempt) * UTF8_BYTES_MAX > limits.bytesMax) {
    const bytes = bytesOf(attempt);
    if (bytes > limits.bytesMax) throw tooLarge(`${String(bytes)} bytes, at most ${String(limits.bytesMax)}`);
  }
}

function tooLarge(message: string): StoreError {
  return new StoreError('too-large', `attempt too large: ${message}`, { retryable: false });
}

function unitsOf(attempt: Attempt): number {
  let units = 0;
  for (const compare of attempt.compares) units += compare.key.length;
  for (const prefix of attempt.empty ?? []) units += 2 * prefix.length;
  for (const write of attempt.writes)
    units += write.key.length + (write.kind === 'put' ? write.value.length : 0);
  for (const key of attempt.readBack) units += key.length;
  return units;
}

function bytesOf(attempt: Attempt): number {
  let bytes = 0;
  for (const compare of attempt.compares) bytes += Buffer.byteLength(compare.key);
  for (const prefix of attempt.empty ?? []) bytes += 2 * Buffer.byteLength(prefix);
  for (const write of attempt.writes)
    bytes += Buffer.byteLength(write.key) + (write.kind === 'put' ? Buffer.byteLength(write.value) : 0);
  for (const key of attempt.readBack) bytes += Buffer.byteLength(key);
  return bytes;
}
