import { rmSync } from 'node:fs';

const TRIES = 20;

/**
 * Removes it, also while a process that was just told to end writes its last file there: `maxRetries` does not look again at
 * what is in a folder, so all of it is done again.
 */
export function removeFolder(path: string): void {
  for (let left = TRIES; ; left--) {
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 2 });
      return;
    } catch (error) {
      if (left === 0 || (error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    }
  }
}
