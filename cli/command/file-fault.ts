import { EXIT } from './exit.ts';

/** Why a file or a folder could not be read or written, in words. */
export function fileFault(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : FAULTS[code];
  if (known !== undefined) return known;
  return error instanceof Error ? error.message : String(error);
}

/** What a file or a folder that could not be written says to the shell: was the wrong one named, is it refused, or is there no room? */
export function writeExitCode(error: unknown): number {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (NO_ROOM.has(code)) return EXIT.workloadFailed;
  return DENIED.has(code) ? EXIT.unreachable : EXIT.usage;
}

/** Another name would do no better: what was asked for failed. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']);
const DENIED = new Set(['EACCES', 'EPERM', 'EROFS']);

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'there is a file of this name',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'it lies on a file system that is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'it grew larger than a file may',
  EIO: 'the disk failed',
};
