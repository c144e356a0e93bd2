import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import { PrepareError } from './task-driver.ts';

/** What every program needs of its host to run at all, and nothing that is private to the host or to others. */
export const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Paths in the state folder. */
export interface Bench {
  /** Readable as `/in`. */
  readonly input: string;
  /** Writable as `/out`; must be there. */
  readonly output: string;
  /** Files keep the owners that the archive names. Needs root. */
  readonly owners?: boolean;
}

/** Owners are somebody else's: only with these may root give files away and go on writing to them. */
const OWNER_CAPABILITIES = ['CAP_CHOWN', 'CAP_DAC_OVERRIDE', 'CAP_FOWNER', 'CAP_FSETID', 'CAP_SETGID'];

/**
 * A shell script over an archive that a stranger made. An archive can hold links that lead anywhere, and later names that
 * go through them; in here anywhere is nothing but `/out`.
 */
function onBench(bench: Bench, script: string): readonly string[] {
  const apart = ['--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts'];
  const kept = OWNER_CAPABILITIES.flatMap((name) => ['--cap-add', name]);
  return [
    ...[
      'bwrap',
      ...(bench.owners === true ? apart : ['--unshare-all']),
      '--die-with-parent',
      '--cap-drop',
      'ALL',
    ],
    ...(bench.owners === true ? kept : []),
    ...SYSTEM_FOLDERS.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...['--ro-bind', bench.input, '/in', '--bind', bench.output, '/out', '--chdir', '/out'],
    ...['--', 'sh', '-c', script],
  ];
}

/** Ten gigabytes of small files on a slow disk. */
const UNPACK_MS = 600_000;
/** The first words tell; a broken archive can make a thousand lines. */
const REASON_CHARS_MAX = 200;

/** @throws PrepareError with what it said when it fails */
export async function runOnBench(
  commands: Commands,
  disk: Disk,
  bench: Bench,
  script: string,
): Promise<void> {
  const [input, output] = [disk.absolute(bench.input), disk.absolute(bench.output)];
  const { code, err } = await commands.run(onBench({ ...bench, input, output }, script), UNPACK_MS);
  if (code !== 0) throw new PrepareError(`cannot unpack it: ${err.trim().slice(0, REASON_CHARS_MAX)}`);
}
