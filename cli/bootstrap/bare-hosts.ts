import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { errorText } from '../../src/core/errors/errors.ts';
import { bearerOf } from '../../src/adapters/pki/bearer.ts';
import type { AuthorityFolder } from '../../src/adapters/pki/authority-folder.ts';
import { shownAuthority } from '../../src/adapters/pki/shown-authority.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { bodyOf } from '../../src/clients/clients.ts';
import type { BareToken } from '../../src/core/access/invitation.ts';
import { readBareToken } from '../../src/core/access/invitation.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import type { AdoptRequest, BareMachine } from '../../src/wire/join/bare-api.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { isHostName } from './layout.ts';

const CALL_TIMEOUT_MS = 15_000;
/** How often a list is read again that is too short yet. */
const LOOK_MS = 1_000;
const LIST_CHARS_MAX = 256 * 1024;
const HOSTS_MAX = 64;

/** Where the tokens of the machines are: on the command line, in a file, or at an address where a list of them grows. */
export interface HostsFlags {
  readonly hosts: readonly string[];
  readonly discovery?: string;
  readonly minHosts?: number;
  readonly wait: string;
}

/** @returns in their order, each host once. @throws CliError */
export async function namedHosts(
  { terminal, interrupted }: Context,
  flags: HostsFlags,
  waitMs: number,
): Promise<readonly BareToken[]> {
  const named = tokensIn(flags.hosts.flatMap(written).join('\n'), '--hosts');
  if (flags.discovery === undefined) return enough(named, flags.minHosts);
  const untilMs = terminal.nowMs() + waitMs;
  const min = flags.minHosts ?? 1;
  for (let told = ''; ;) {
    const { tokens, fault } = await listed(flags.discovery);
    const all = [...named, ...tokens.filter(({ host }) => !named.some((one) => one.host === host))];
    if (all.length >= min) return all;
    const state = fault?.message ?? `${String(all.length)} of ${String(min)} hosts are listed`;
    if (state !== told) terminal.err(`${state}\n`);
    told = state;
    if (terminal.nowMs() >= untilMs || interrupted.aborted)
      throw new CliError(
        EXIT.unreachable,
        `${state} after ${flags.wait}${all.length === 0 ? '' : `: ${all.map(({ host }) => host).join(', ')}`}`,
        'put the token of each machine there, a line each (moorage agent --bare prints it), and give the same command again',
      );
    await terminal.sleep(LOOK_MS, interrupted);
  }
}

/** A list that is not there now may be there the next time; one with a wrong line is told at once. */
async function listed(
  url: string,
): Promise<{ readonly tokens: readonly BareToken[]; readonly fault?: CliError }> {
  try {
    return { tokens: tokensIn(await listAt(url), url) };
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== EXIT.unreachable) throw error;
    return { tokens: [], fault: error };
  }
}

function enough(hosts: readonly BareToken[], min = 1): readonly BareToken[] {
  if (hosts.length >= min) return hosts;
  throw usageError(
    `${String(hosts.length)} hosts are named, and it takes ${String(min)}`,
    'moorage agent --bare --listen ADDRESS:7403 --data FOLDER, on each machine, prints its token',
  );
}

/** `@file`, or tokens with commas between them. */
function written(text: string): readonly string[] {
  if (!text.startsWith('@')) return text.split(',');
  try {
    return [readFileSync(text.slice(1), 'utf8')];
  } catch (error) {
    throw usageError(`--hosts ${text}: ${fileFault(error)}`, '--hosts @FILE, with a token a line');
  }
}

/** A token a line; what begins with `#` is a comment. */
export function tokensIn(text: string, from: string): readonly BareToken[] {
  const lines = text.split('\n').map((line) => line.trim());
  const found = new Map<string, BareToken>();
  for (const line of lines.filter((one) => one !== '' && !one.startsWith('#'))) {
    const token = readBareToken(line);
    if (token === null)
      throw usageError(
        `${from}: "${line.slice(0, 40)}" is no token of a bare machine`,
        'moorage agent --bare prints it',
      );
    if (!isHostName(token.host))
      throw usageError(
        `${from}: the name ${token.host} is too long for jobs that are named after it`,
        '--id NAME',
      );
    found.set(token.host, token);
  }
  if (found.size > HOSTS_MAX)
    throw usageError(
      `${from}: more than ${String(HOSTS_MAX)} hosts`,
      'others join later: moorage host invite',
    );
  return [...found.values()];
}

async function listAt(url: string): Promise<string> {
  try {
    if (url.startsWith('file:///')) return await readFile(new URL(url), 'utf8');
    // Its lines are secrets, and whoever can change them adds machines.
    if (!url.startsWith('https://'))
      throw usageError(`--discovery ${url}: write it as https://… or file:///…`, 'the list holds secrets');
    const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`it answers ${String(answer.status)}`);
    return (await answer.text()).slice(0, LIST_CHARS_MAX);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const why = errorText(error);
    throw new CliError(
      EXIT.unreachable,
      `${url}: ${why}`,
      'a list with the token of a bare machine a line',
      error,
    );
  }
}

/** A machine that waits for its cell, over a connection to nobody else. */
export class BareHost {
  readonly #http: HttpClient;
  readonly #url: string;

  /** @throws CredentialsError: another answers; an error of the connection: nobody does */
  static async at({ monitors: [url = ''], fingerprints, shown }: BareToken): Promise<BareHost> {
    return new BareHost(url, nodeClient(bearerOf(shown, await shownAuthority(url, fingerprints))));
  }

  private constructor(url: string, http: HttpClient) {
    this.#url = url;
    this.#http = http;
  }

  /** What it is, with a key for each that will have one there. */
  async keys(holders: readonly string[]): Promise<BareMachine> {
    return this.#post('/v1/keys', { holders });
  }

  async adopt(request: AdoptRequest): Promise<void> {
    await this.#post('/v1/adopt', request);
  }

  async #post<T>(path: string, body: unknown): Promise<T> {
    const call = { method: 'POST', url: this.#url + path, body, timeoutMs: CALL_TIMEOUT_MS } as const;
    return bodyOf<T>(await this.#http.call(call));
  }
}

export interface Adoption {
  readonly host: string;
  readonly holders: readonly {
    readonly role: 'agent' | 'etcd' | 'arbiter' | 'monitor' | 'scheduler';
    readonly id: string;
  }[];
  /** At which it serves. */
  readonly address: string;
  readonly pinnedKeys: string;
  readonly etcd: readonly string[];
  readonly arbiterSecret: string | null;
}

/** Gives the machine its certificates, of keys that it has made: it is an agent of the cell then. */
export async function adoptHost(
  bare: BareHost,
  machine: BareMachine,
  authority: AuthorityFolder,
  {
    holders,
    address,
    pinnedKeys,
    etcd,
    arbiterSecret,
    ...times
  }: Adoption & { readonly nowMs: number; readonly ttlMs: number },
): Promise<void> {
  const bundles: string[] = [];
  for (const { role, id } of holders) {
    const publicKey = machine.publicKeys[`${role}-${id}`];
    if (publicKey === undefined) throw new Error(`${times.host} made no key for ${role} ${id}`);
    const { nowMs, ttlMs } = times;
    const issued = await authority.issueFor({ role, id }, { nowMs, ttlMs, publicKey, hosts: [address] });
    bundles.push((await authority.bundle(issued, { pinnedKeys, etcd: [...etcd] })).text);
  }
  await bare.adopt({ bundles, allow: ['host-network', 'root', 'system'], arbiterSecret });
}
