import { createHash } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorText } from '../../core/errors/errors.ts';
import { errorCodeOf } from '../adapters.ts';
import type { ArtifactSource, Fetched, FetchOptions } from '../../ports/artifacts.ts';
import { FetchError } from '../../ports/artifacts.ts';

export interface ArtifactSourceOptions {
  readonly stateFolder: string;
  /** Prefixes of allowed sources. A file must lie below a folder that is named here. */
  readonly allowed: readonly string[];
  /** Silence for so long ends a fetch. Default 30 s. */
  readonly idleMs?: number;
}

const IDLE_MS = 30_000;

interface PacedFetch extends FetchOptions {
  /** The bytes wait for their pace, so the source has reason to be silent. */
  isWaiting: boolean;
}

/** Files by HTTP, and of this machine where that is allowed. Redirects are not followed: they could lead anywhere. */
export function artifactSource(options: ArtifactSourceOptions): ArtifactSource {
  return {
    async fetch(source, into, limits) {
      const url = allowedUrl(source, options.allowed);
      const path = join(options.stateFolder, into);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      try {
        const paced = { ...limits, isWaiting: false };
        const bytes = url.protocol === 'file:' ? await fileBytes(url) : await httpBytes(url, paced, options);
        return await keep(bytes, path, paced);
      } catch (error) {
        await rm(path, { force: true });
        if (error instanceof FetchError) throw error;
        throw new FetchError(codeOf(error), `${source}: ${errorText(error)}`, error);
      }
    },
  };
}

function allowedUrl(source: string, allowed: readonly string[]): URL {
  const url = URL.canParse(source) ? new URL(source) : null;
  // The URL as it is understood: `..` and the like are resolved.
  if (url === null || !allowed.some((prefix) => url.href.startsWith(prefix)))
    throw new FetchError('refused', `${source}: this host fetches nothing from there`);
  return url;
}

async function fileBytes(url: URL): Promise<AsyncIterable<Buffer>> {
  const path = fileURLToPath(url);
  if (!(await stat(path)).isFile()) throw new FetchError('refused', `${url.href}: is no file`);
  return createReadStream(path);
}

function httpBytes(url: URL, limits: PacedFetch, options: ArtifactSourceOptions): Promise<IncomingMessage> {
  const request: RequestOptions = { lookup: lookupSafely, signal: limits.signal, agent: false };
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) checkAddress(host);
  return new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? getSecure : getPlain;
    const call = get(url, request, (answer) => {
      const why = refusalOf(answer, limits.bytesMax);
      if (why === null) return resolve(answer);
      answer.destroy();
      reject(new FetchError(why, `${url.href}: answered ${String(answer.statusCode)}`));
    });
    call.setTimeout(options.idleMs ?? IDLE_MS, () => {
      if (!limits.isWaiting) call.destroy(new Error('silent for too long'));
    });
    call.once('error', reject);
  });
}

function refusalOf(answer: IncomingMessage, bytesMax: number): FetchError['code'] | null {
  const status = answer.statusCode ?? 0;
  if (status === 200) return Number(answer.headers['content-length'] ?? 0) > bytesMax ? 'full' : null;
  return status >= 500 || status === 429 ? 'unreachable' : 'refused';
}

async function keep(bytes: AsyncIterable<Buffer>, path: string, paced: PacedFetch): Promise<Fetched> {
  const { bytesMax } = paced;
  const hash = createHash('sha256');
  const file = await open(path, 'w', 0o600);
  let size = 0;
  try {
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > bytesMax)
        throw new FetchError('full', `larger than the ${String(bytesMax)} bytes that there is room for`);
      paced.isWaiting = true;
      await paced.pace?.(chunk.length);
      paced.isWaiting = false;
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.chmod(0o444);
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), bytes: size };
}

/** Addresses at which a cloud provider gives a machine's secrets to every process of that machine. */
const FORBIDDEN = new BlockList();
FORBIDDEN.addSubnet('169.254.0.0', 16, 'ipv4');
FORBIDDEN.addSubnet('fe80::', 10, 'ipv6');
FORBIDDEN.addAddress('fd00:ec2::254', 'ipv6');

function checkAddress(address: string): void {
  const kind = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (FORBIDDEN.check(address, kind))
    throw new FetchError('refused', `${address} is the address of no artifact`);
}

/** A name may resolve to another address each time, so the address that is connected to is checked. */
const lookupSafely: NonNullable<RequestOptions['lookup']> = (name, options, done) => {
  lookup(name, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error !== null) return done(error, '');
    try {
      for (const { address } of found) checkAddress(address);
    } catch (refused) {
      return done(refused as Error, '');
    }
    const [first] = found;
    if (options.all === true) done(null, found);
    else done(null, first?.address ?? '', first?.family ?? 4);
  });
};

function codeOf(error: unknown): FetchError['code'] {
  const code = errorCodeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  return code === 'ENOENT' || code === 'EACCES' || code === 'ENOTFOUND' ? 'refused' : 'unreachable';
}
