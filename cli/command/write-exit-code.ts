import { EXIT } from './exit.ts';

/**
 * The exit code when a file or a folder cannot be written: 64 for a name that cannot be right, 4 for one that is refused
 * (permission, read-only), 1 for a write that failed (no space, a broken disk), which another name would not help.
 */
export function writeExitCode(error: unknown): number {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (NO_SPACE.has(code)) return EXIT.workloadFailed;
  return DENIED.has(code) ? EXIT.unreachable : EXIT.usage;
}

const NO_SPACE = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']);
const DENIED = new Set(['EACCES', 'EPERM', 'EROFS']);
