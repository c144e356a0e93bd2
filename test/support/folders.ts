import { rmSync } from 'node:fs';

const TRIES = 20;

/**
 * Removes a folder in which a process that was just told to end may still write its last file. `maxRetries` alone is not
 * enough: a retry does not look again at what is in the folder.
 * @throws NodeJS.ErrnoException
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
