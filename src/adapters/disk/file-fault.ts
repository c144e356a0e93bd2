import { errorText } from '../../core/errors/errors.ts';

/** Why a file or a folder could not be read or written, in words. */
export function fileFault(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : FAULTS[code];
  if (known !== undefined) return known;
  return errorText(error);
}

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
