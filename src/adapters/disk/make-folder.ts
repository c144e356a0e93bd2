import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it that are missing. Step by step: Node's own `recursive` never ends where a file system answers
 * "no such file" to every new folder, as /proc does.
 *
 * @param mode of each folder that is made
 * @throws as the system does, with its `code`
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (found?.isDirectory() === true) return;
  if (found === null) await makeFolder(dirname(path), mode);
  await mkdir(path, { mode }).catch((error: unknown) => {
    // Somebody else may make it at the same time.
    if (found !== null || (error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}
