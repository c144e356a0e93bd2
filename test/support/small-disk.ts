import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';

/**
 * A file system of a few MiB of its own at `path`, gone afterwards.
 * @param more options of `mount`, such as `noexec`
 * @throws with what `mount` said; root alone may
 */
export function mountSmallDisk(path: string, mib: number, more: readonly string[] = []): Disposable {
  mkdirSync(path, { recursive: true });
  const options = [`size=${String(mib)}m`, ...more].join();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
  if (mounted.status !== 0) throw new Error(mounted.stderr.toString());
  return { [Symbol.dispose]: () => void spawnSync('umount', ['-l', path]) };
}

/** Takes all that is left, to the last byte. */
export function fill(path: string): void {
  const file = openSync(path, 'w');
  for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2))
    try {
      for (;;) writeSync(file, Buffer.alloc(size, 'x'));
    } catch {
      // The next smaller piece may still fit.
    }
  closeSync(file);
}
