import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isExecutable } from './executable.ts';

const run = promisify(execFile);
/** A download of 8 MiB, or of the package lists, on a slow line. */
const COMMAND_TIMEOUT_MS = 180_000;
const PACKAGE = 'etcd-server';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Unpacks Debian's package into the folder, with the system's own tools, as any user, installing nothing. The package
 * manager checks the signatures.
 *
 * @returns the path of the binary
 */
export async function unpackDebianEtcd(
  folder: string,
  env: Environment,
  onStep?: (text: string) => void,
): Promise<string> {
  const binary = join(folder, 'usr', 'bin', 'etcd');
  if (await isExecutable(binary)) return binary;
  await mkdir(dirname(folder), { recursive: true });
  const work = await mkdtemp(join(dirname(folder), 'unpack-'));
  try {
    onStep?.(`downloading the Debian package ${PACKAGE}`);
    const archive = await download(work, env);
    await run('dpkg', ['-x', archive, join(work, 'root')], { timeout: COMMAND_TIMEOUT_MS, env });
    await rm(folder, { recursive: true, force: true });
    await rename(join(work, 'root'), folder);
    return binary;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function download(work: string, env: Environment): Promise<string> {
  try {
    await aptGet(work, env, ['download', PACKAGE]);
  } catch {
    // The system has no package lists, as in a slim image. Read them into folders of our own.
    const own = await privateFolders(work);
    await aptGet(work, env, [...own, 'update']);
    await aptGet(work, env, [...own, 'download', PACKAGE]);
  }
  const archive = (await readdir(work)).find((name) => name.endsWith('.deb'));
  if (archive === undefined) throw new Error(`apt-get download ${PACKAGE} left no package`);
  return join(work, archive);
}

async function aptGet(cwd: string, env: Environment, args: readonly string[]): Promise<void> {
  await run('apt-get', ['-q', ...args], { cwd, env, timeout: COMMAND_TIMEOUT_MS });
}

/** The system's sources and keys, with lists and caches of our own. */
async function privateFolders(work: string): Promise<string[]> {
  const state = join(work, 'apt-state');
  const cache = join(work, 'apt-cache');
  await mkdir(join(state, 'lists', 'partial'), { recursive: true });
  await mkdir(join(cache, 'archives', 'partial'), { recursive: true });
  return [
    '-o',
    `Dir::State=${state}`,
    '-o',
    `Dir::Cache=${cache}`,
    '-o',
    'Dir::State::status=/var/lib/dpkg/status',
  ];
}
