import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodeOf } from '../adapters.ts';

/** What a real process does at its fail points, see `runtime/faults/orders.ts`. */
export const systemFailures = {
  /** `MOORAGE_FAILPOINT`: read once, at the start. */
  orders: process.env['MOORAGE_FAILPOINT'],
  seen: process.env['MOORAGE_FAILPOINT_SEEN'] === undefined ? null : seen,
  counts,
  kill,
  sleep: (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms)),
  fires,
};

function kill(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal may take a moment, in which no further line may run.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** With `MOORAGE_FAILPOINT_FROM` naming a file, points count from when it exists: after the start, for one. */
function counts(): boolean {
  const file = process.env['MOORAGE_FAILPOINT_FROM'];
  return file === undefined || existsSync(file);
}

/**
 * With `MOORAGE_FAILPOINT_ONCE` naming a folder an order is followed once by all processes together: the process that
 * creates its file follows it. So a role that was killed and started again is not killed again, and a test sees which orders
 * were met.
 */
function fires(order: { readonly name: string; readonly nth: number }): boolean {
  const folder = process.env['MOORAGE_FAILPOINT_ONCE'];
  return folder === undefined || leaveMark(folder, `${order.name}:${String(order.nth)}`);
}

/** With `MOORAGE_FAILPOINT_SEEN` naming a folder there is a file in it for each point that any process has reached. */
function seen(name: string): void {
  leaveMark(process.env['MOORAGE_FAILPOINT_SEEN'] ?? '', name);
}

/** @returns false when it exists already */
function leaveMark(folder: string, name: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name.replaceAll('/', '_')), `${String(process.pid)}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}
