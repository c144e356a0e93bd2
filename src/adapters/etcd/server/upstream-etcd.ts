import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isExecutable } from './executable.ts';

const run = promisify(execFile);
const UNPACK_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;
const DEFAULT_MIRROR = 'https://github.com/etcd-io/etcd/releases/download';

export interface UpstreamRelease {
  readonly version: string;
  /** SHA-256 of `etcd-v<version>-linux-<arch>.tar.gz`, by architecture in the release's spelling. */
  readonly sha256: Readonly<Record<string, string>>;
}

/** Pinned, so that no mirror or proxy can replace the binary. */
export const UPSTREAM_RELEASE: UpstreamRelease = {
  version: '3.5.27',
  sha256: {
    amd64: '0aad9a9e4e0817a021e933f9806a2b2960a62f949ad5a3d6436d8886945cb1bc',
    arm64: '1277309f540c5a0329c428f95455c9f76d24f768c8d28fd2753e891c379053fa',
  },
};

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * Downloads the release into the cache and unpacks its server.
 *
 * @param mirror base URL of `<mirror>/v<version>/<archive>`
 * @returns the path of the binary
 */
export async function downloadUpstreamEtcd(
  cache: string,
  release: UpstreamRelease,
  mirror: string = DEFAULT_MIRROR,
  onStep?: (text: string) => void,
): Promise<string> {
  const folder = join(cache, `v${release.version}`);
  const binary = join(folder, 'etcd');
  if (await isExecutable(binary)) return binary;
  const name = archiveName(release);
  const url = `${mirror.replace(/\/$/, '')}/v${release.version}/${name}.tar.gz`;
  onStep?.(`downloading ${url}`);
  const archive = await fetchPinned(url, pinOf(release));
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, 'unpack-'));
  try {
    await writeFile(join(work, 'archive.tar.gz'), archive);
    const args = ['-xzf', join(work, 'archive.tar.gz'), '-C', work, `${name}/etcd`];
    await run('tar', args, { timeout: UNPACK_TIMEOUT_MS });
    await rm(folder, { recursive: true, force: true });
    await rename(join(work, name), folder);
    return binary;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function fetchPinned(url: string, sha256: string): Promise<Buffer> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`${url} answered ${String(answer.status)}`);
  const archive = Buffer.from(await answer.arrayBuffer());
  const found = createHash('sha256').update(archive).digest('hex');
  if (found !== sha256) throw new Error(`${url} has SHA-256 ${found}, expected ${sha256}: not used`);
  return archive;
}

function archiveName(release: UpstreamRelease): string {
  return `etcd-v${release.version}-linux-${architecture()}`;
}

function pinOf(release: UpstreamRelease): string {
  const pin = release.sha256[architecture()];
  if (pin === undefined) throw new Error(`no pinned etcd release for ${architecture()}`);
  return pin;
}

function architecture(): string {
  if (process.platform !== 'linux') throw new Error(`no pinned etcd release for ${process.platform}`);
  return ARCHITECTURES[process.arch] ?? process.arch;
}
