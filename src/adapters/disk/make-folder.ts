import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it that are missing. Step by step: Node's own `recursive` never ends where a file system answers
 * "no such file" to every new folder, as /proc does.
 *
 * @param mode of each folder that is made
 * @throws as the system does, with its `code`
 */
export function makeFolder(path: string, mode = 0o777): void {
  const found = lookedAt(path);
  if (found?.isDirectory() === true) return;
  if (found === null) makeFolder(dirname(path), mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Somebody else may make it at the same time.
    if (found !== null || (error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** null: nothing is there. */
function lookedAt(path: string): ReturnType<typeof statSync> | null {
  try {
    return statSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
