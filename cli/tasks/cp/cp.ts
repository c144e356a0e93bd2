/**
 * Copies a file or a folder into an allocation or out of it, by commands that run there: of `sh`, `cat`, `head`, `tail`,
 * `stat` and `sha256sum` for files (`file.ts`), `tar` and `dd` for folders (`folder.ts`). Each command is a `script.ts`. The
 * archive of a folder is read by `tar-reader.ts` and unpacked by `unpack.ts`, which writes nothing outside the target folder.
 */
import { stat } from 'node:fs/promises';
import type { Context } from '../../command/context.ts';
import type { AllocationPath } from './script.ts';
import { askScript } from './script.ts';
import { CliError, EXIT, usageError } from '../../command/exit.ts';
import { findAllocation } from '../../names/find-allocation.ts';

export async function cp(
  context: Context,
  from: string,
  to: string,
  options: { readonly task?: string },
): Promise<number> {
  const [source, target] = [inside(from), inside(to)];
  if ((source === null) === (target === null))
    throw usageError('one of the two must be inside: NAME:PATH', 'moorage cp web[0]:/etc/hosts .');
  const [api, channels] = [await context.api(), await context.channels()];
  const place = async (written: { name: string; path: string }): Promise<AllocationPath> => ({
    ...{ api, channels, path: written.path, ...options },
    allocation: await findAllocation(context, written.name),
  });
  if (source !== null) await copyOut(context, await place(source), to);
  else if (target !== null) await copyIn(context, from, await place(target));
  return EXIT.ok;
}

/** `web[2]:/path`; a local path with a colon in it is written `./a:b`. */
function inside(written: string): { readonly name: string; readonly path: string } | null {
  const parts = /^([^/.][^:/]*(?:\/[^:/]+)?):(.+)$/.exec(written);
  return parts === null ? null : { name: parts[1] ?? '', path: parts[2] ?? '' };
}

const KIND = `if test -d "$1"; then echo folder; elif test -f "$1"; then echo file
elif test -e "$1"; then echo other; else echo none; fi`;

async function copyOut({ terminal }: Context, place: AllocationPath, to: string): Promise<void> {
  const kind = await askScript(place, KIND);
  if (kind === 'file') {
    const { fileOut } = await import('./file.ts');
    const copied = await fileOut(place, to);
    terminal.err(`${place.path} → ${copied.to} (${String(copied.bytes)} bytes)\n`);
  } else if (kind === 'folder') {
    const { folderOut } = await import('./folder.ts');
    const { leftOut, files, bytes, to: where } = await folderOut(place, to);
    for (const one of leftOut) terminal.err(`left out: ${one}\n`);
    terminal.err(`${place.path} → ${where} (${String(files)} files, ${String(bytes)} bytes)\n`);
  } else {
    const why = kind === 'none' ? 'it is not there' : 'it is neither file nor folder';
    throw new CliError(EXIT.ownFault, `cannot copy ${place.path}: ${why}`);
  }
}

async function copyIn({ terminal }: Context, from: string, place: AllocationPath): Promise<void> {
  const found = await stat(from).catch((error: Error) => {
    throw new CliError(EXIT.usage, `cannot read ${from}: ${error.message}`, null, error);
  });
  if (found.isFile()) {
    const { fileIn } = await import('./file.ts');
    const { bytes } = await fileIn(from, place);
    terminal.err(`${from} → ${place.path} (${String(bytes)} bytes)\n`);
  } else if (found.isDirectory()) {
    const { folderIn } = await import('./folder.ts');
    const bytes = await folderIn(from, place);
    terminal.err(`${from} → ${place.path} (an archive of ${String(bytes)} bytes)\n`);
  } else throw usageError(`${from} is neither file nor folder`, 'moorage cp --help');
}
