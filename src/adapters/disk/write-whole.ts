import { open, rename, rm } from 'node:fs/promises';

/**
 * Writes the whole file or nothing.
 * @param mode from its first moment: what only its owner may read is never readable by others
 */
export async function writeWhole(file: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${file}.${String(process.pid)}.draft`;
  await rm(draft, { force: true });
  const handle = await open(draft, 'wx', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}
