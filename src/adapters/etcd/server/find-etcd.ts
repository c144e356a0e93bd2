import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { errorText } from '../../../core/errors/errors.ts';
import { unpackDebianEtcd } from './debian-etcd.ts';
import { isExecutable } from './executable.ts';
import type { UpstreamRelease } from './upstream-etcd.ts';
import { downloadUpstreamEtcd, UPSTREAM_RELEASE } from './upstream-etcd.ts';

const run = promisify(execFile);
const VERSION_TIMEOUT_MS = 10_000;

export interface FoundEtcd {
  readonly path: string;
  /** `3.4.23` */
  readonly version: string;
  readonly source: EtcdSource;
}

/** In the order in which they are tried. */
export const ETCD_SOURCES = ['environment', 'path', 'debian', 'upstream'] as const;
export type EtcdSource = (typeof ETCD_SOURCES)[number];

export interface FindEtcdOptions {
  /** `MOORAGE_ETCD`, `PATH`, `MOORAGE_CACHE`, `XDG_CACHE_HOME`, `HOME` and `MOORAGE_ETCD_MIRROR` are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Which places to try; all by default. */
  readonly sources?: readonly EtcdSource[];
  /** Another release than the pinned one. */
  readonly release?: UpstreamRelease;
  /** Called before a slow source is tried. */
  readonly onStep?: (text: string) => void;
}

/** No etcd was found. The message names the remedy in one line. */
export class NoEtcdError extends Error {
  override readonly name = 'NoEtcdError';
  readonly retryable = false;
}

/**
 * Finds an etcd server to run: the one that `MOORAGE_ETCD` names, one on the `PATH`, the one of the Debian package
 * `etcd-server` unpacked into the cache folder (no root needed, nothing installed), or the upstream release, whose
 * SHA-256 is pinned. What was unpacked once is found in the cache the next time.
 *
 * @throws NoEtcdError
 */
export async function findEtcd(options: FindEtcdOptions): Promise<FoundEtcd> {
  const { env } = options;
  const named = env['MOORAGE_ETCD'];
  const sources = options.sources ?? ETCD_SOURCES;
  if (sources.includes('environment') && named !== undefined && named !== '') {
    const version = await versionOf(named);
    if (version === null)
      throw new NoEtcdError(`MOORAGE_ETCD names ${named}, which is no etcd that runs here`);
    return { path: named, version, source: 'environment' };
  }
  const cache = cacheFolder(env);
  const failures: string[] = [];
  for (const source of sources) {
    try {
      for (const path of await candidates(source, cache, options)) {
        const version = await versionOf(path);
        if (version !== null) return { path, version, source };
      }
    } catch (error) {
      failures.push(`${source}: ${firstLine(error)}`);
    }
  }
  const tried = failures.length === 0 ? '' : ` (${failures.join('; ')})`;
  throw new NoEtcdError(
    `no etcd found: install one (apt-get install etcd-server), or set MOORAGE_ETCD to its path${tried}`,
  );
}

async function candidates(source: EtcdSource, cache: string, options: FindEtcdOptions): Promise<string[]> {
  switch (source) {
    case 'environment':
      return [];
    case 'path':
      return onPath(options.env['PATH'] ?? '');
    case 'debian':
      return [await unpackDebianEtcd(join(cache, 'debian'), options.env, options.onStep)];
    case 'upstream': {
      const release = options.release ?? UPSTREAM_RELEASE;
      const mirror = options.env['MOORAGE_ETCD_MIRROR'];
      return [await downloadUpstreamEtcd(cache, release, mirror, options.onStep)];
    }
  }
}

/** Holds downloads only, and is safe to delete. */
function cacheFolder(env: FindEtcdOptions['env']): string {
  const own = env['MOORAGE_CACHE'];
  if (own !== undefined && own !== '') return join(own, 'etcd');
  const shared = env['XDG_CACHE_HOME'];
  const base = shared !== undefined && shared !== '' ? shared : join(env['HOME'] ?? homedir(), '.cache');
  return join(base, 'moorage', 'etcd');
}

async function onPath(path: string): Promise<string[]> {
  const found: string[] = [];
  for (const folder of path.split(delimiter)) {
    if (folder !== '' && (await isExecutable(join(folder, 'etcd')))) found.push(join(folder, 'etcd'));
  }
  return found;
}

/** @returns null when the binary does not run or is no etcd */
async function versionOf(path: string): Promise<string | null> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    return /etcd Version: (\S+)/.exec(stdout)?.[1] ?? null;
  } catch {
    return null;
  }
}

function firstLine(error: unknown): string {
  const text = errorText(error);
  return text.split('\n').find((line) => line.trim() !== '') ?? text;
}
