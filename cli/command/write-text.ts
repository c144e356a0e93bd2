import { randomUUID } from 'node:crypto';
import { access, constants, open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { CliError } from './exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { writeExitCode } from './write-exit-code.ts';

/**
 * Writes a file as a whole: a reader finds the old text or the new one, even if this process is killed meanwhile, and two
 * writers of one file do not mix. A device or a pipe is written in place.
 *
 * @param hint what to do when that fails
 * @throws CliError naming the file and why; nothing is left of the half
 */
export async function writeText(file: string, text: string, hint: string): Promise<void> {
  try {
    if (!(await isPlain(file))) await writeFile(file, text);
    else await replace(await realpath(file).catch(() => file), text);
  } catch (error) {
    throw unwritable(file, error, hint);
  }
}

/** @throws CliError when the file could not be written; called before hours of work are spent on its content */
export async function mustBeWritable(file: string, hint: string): Promise<void> {
  try {
    if (!(await isPlain(file))) {
      await access(file, constants.W_OK);
      return;
    }
    const target = await realpath(file).catch(() => null);
    if (target !== null) await access(target, constants.W_OK);
    const part = partOf(target ?? file);
    await (await open(part, 'wx')).close();
    await rm(part);
  } catch (error) {
    throw unwritable(file, error, hint);
  }
}

/** Is it a file, or nothing yet? @throws for a folder */
async function isPlain(file: string): Promise<boolean> {
  const found = await stat(file).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  });
  if (found?.isDirectory() === true) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
  return found?.isFile() ?? true;
}

async function replace(file: string, text: string): Promise<void> {
  const part = partOf(file);
  try {
    await writeFile(part, text, { flag: 'wx' });
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Beside it, with a name that no other process uses. */
const partOf = (file: string): string => `${file}.${randomUUID()}.part`;

function unwritable(file: string, error: unknown, hint: string): CliError {
  const isFolder = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const why = isFolder ? 'its folder is not there' : fileFault(error);
  return new CliError(writeExitCode(error), `cannot write ${file}: ${why}`, hint, error);
}
