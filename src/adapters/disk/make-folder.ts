import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCodeOf } from '../adapters.ts';

/**
 * Makes a folder and the missing ones above it, one by one: Node's own `recursive` never ends where a file system answers
 * "no such file" to every new folder, as /proc does.
 *
 * @param mode of each folder that is made
 * @throws as the system does, with its `code`
 */
export function makeFolder(path: string, mode = 0o777): void {
  const found = statOrNull(path);
  if (found?.isDirectory() === true) return;
  if (found === null) makeFolder(dirname(path), mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may make it at the same time.
    if (found !== null || errorCodeOf(error) !== 'EEXIST') throw error;
  }
}

/** @returns null where there is no file */
function statOrNull(path: string): ReturnType<typeof statSync> | null {
  try {
    return statSync(path);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
