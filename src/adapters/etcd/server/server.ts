/**
 * An etcd server of our own: `find-etcd.ts` finds the binary (on the machine, in Debian's package by `debian-etcd.ts`, or in
 * the upstream release by `upstream-etcd.ts`; `executable.ts` tests a path), and this file starts it as a process.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Credentials } from '../../pki/credentials.ts';
import { CREDENTIAL_FILES } from '../../pki/pki.ts';
import { etcdClient } from '../client/client.ts';
import { OPERATIONS_WANTED } from '../txn-limit.ts';

export interface StartEtcdOptions {
  readonly binary: string;
  /** Holds `data/` and `etcd.log`; made when it is not there, gone on with when it is. */
  readonly dataFolder: string;
  /** How much history is kept: a duration such as `5m` (default), or `off`. */
  readonly autoCompaction?: string;
  /** For tests that are not about durability: twice as fast on small writes, and may lose data with the machine. */
  readonly unsafeNoFsync?: boolean;
  /** Fails when it is taken; any free one by default. */
  readonly clientPort?: number;
  /** One of several members; all must be started for any to become ready. Absent: the only one. */
  readonly member?: EtcdMember;
  /** With them it speaks TLS, and answers nobody without a certificate of the cell's authority. */
  readonly credentials?: Credentials | undefined;
  /** Further flags of the server. */
  readonly flags?: readonly string[];
  readonly readyTimeoutMs?: number;
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal;
}

export interface EtcdMember {
  readonly name: string;
  readonly peerUrl: string;
  /** All of them: `a=http://127.0.0.1:1,b=http://127.0.0.1:2`. */
  readonly cluster: string;
}

export interface EtcdProcess {
  /** `http://127.0.0.1:<port>`, or `https` with credentials */
  readonly clientUrl: string;
  /** To start it again as the same member, on the same ports. */
  readonly member: EtcdMember;
  readonly pid: number;
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Asks it to end, and makes it after `STOP_GRACE_MS`. */
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 5_000;
const PROBE_PAUSE_MS = 25;
const PROBE_TIMEOUT_MS = 2_000;
/** Another process may take a free port before the server binds it. */
const STARTS_MAX = 5;
const LOG_TAIL_LINES = 3;

/**
 * Starts an etcd as a process, by default of one member, with a data folder and ports of its own. Resolves when it answers
 * a linearizable read with what was written: an open port proves nothing.
 *
 * @throws Error with the last lines of the server's log
 */
export async function startEtcd(options: StartEtcdOptions): Promise<EtcdProcess> {
  mkdirSync(join(options.dataFolder, 'data'), { recursive: true, mode: 0o700 });
  for (let start = 1; ; start++) {
    const ports = await freePorts(2);
    const scheme = options.credentials === undefined ? 'http' : 'https';
    const clientUrl = `${scheme}://127.0.0.1:${String(options.clientPort ?? ports[0])}`;
    const member = options.member ?? onlyMember(`${scheme}://127.0.0.1:${String(ports[1])}`);
    const { name } = member;
    const child = launch(options, clientUrl, member);
    const ended = endOf(child);
    const process_: EtcdProcess = {
      ...{ clientUrl, member, pid: child.pid ?? 0, ended },
      stop: () => stop(child, ended),
    };
    const problem = await waitReady(options, process_, name);
    if (problem === null) return process_;
    await process_.stop();
    const tail = etcdLogTail(options.dataFolder).join('\n');
    const isPortTaken = /address already in use/.test(tail) && options.clientPort === undefined;
    if (!isPortTaken || start === STARTS_MAX) throw new Error(`etcd did not start: ${problem}\n${tail}`);
  }
}

function onlyMember(peerUrl: string): EtcdMember {
  const name = `moorage-${randomBytes(6).toString('hex')}`;
  return { name, peerUrl, cluster: `${name}=${peerUrl}` };
}

function launch(options: StartEtcdOptions, clientUrl: string, member: EtcdMember): ChildProcess {
  const { name, peerUrl, cluster } = member;
  const log = openSync(join(options.dataFolder, 'etcd.log'), 'a');
  const compaction = options.autoCompaction ?? '5m';
  const args = [
    ...['--name', name, '--data-dir', join(options.dataFolder, 'data')],
    ...['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl],
    ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
    ...['--initial-cluster', cluster, '--log-level', 'warn', '--logger', 'zap'],
    ...['--max-txn-ops', String(OPERATIONS_WANTED)],
    ...(compaction === 'off'
      ? []
      : ['--auto-compaction-mode', 'periodic', '--auto-compaction-retention', compaction]),
    ...(options.unsafeNoFsync === true ? ['--unsafe-no-fsync'] : []),
    ...(options.credentials === undefined ? [] : secureFlags(options.credentials.folder)),
    ...(options.flags ?? []),
  ];
  try {
    // In a process group of its own: an interrupt from the terminal must not end the store before the roles that write to it.
    // Variables named ETCD_* are settings of some other etcd, and would contradict the flags.
    const child = spawn(options.binary, args, {
      ...{ stdio: ['ignore', log, log], detached: true, env: environment() },
    });
    try {
      endWithThisProcess(child);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
    return child;
  } finally {
    closeSync(log);
  }
}

/** The server reads the files at each connection, so that it takes a renewed certificate by itself. */
function secureFlags(folder: string): readonly string[] {
  const [identity, authorities] = [CREDENTIAL_FILES.identity, CREDENTIAL_FILES.authorities].map((name) =>
    join(folder, name),
  );
  return ['', 'peer-'].flatMap((whose) => [
    ...[`--${whose}cert-file=${identity ?? ''}`, `--${whose}key-file=${identity ?? ''}`],
    ...[`--${whose}trusted-ca-file=${authorities ?? ''}`, `--${whose}client-cert-auth`],
  ]);
}

/**
 * The server must not outlive this process, even when it is killed: a shell reads a pipe that this process alone holds, and
 * ends the server when the pipe closes. The shell ends with the server. (A parent-death signal would come with the end of
 * the thread that made the process.)
 */
function endWithThisProcess(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const guard = spawn('/bin/sh', ['-c', 'read _; kill "$0"', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  for (const failing of [guard, guard.stdin]) failing.on('error', () => undefined);
  child.once('exit', () => guard.kill('SIGKILL'));
}

/**
 * How much etcd's heap may grow, in percent of what lives, before Go collects. At Go's own 100 a tenth of the server's CPU
 * is garbage collection; 400 costs memory, up to 500 MB for 100 MB of data. An operator's own GOGC wins.
 */
const HEAP_GROWTH_PERCENT = '400';

function environment(): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('ETCD_'));
  return { GOGC: HEAP_GROWTH_PERCENT, ...Object.fromEntries(own) };
}

function endOf(child: ChildProcess): EtcdProcess['ended'] {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
}

/** @returns null when it is ready, else what went wrong */
async function waitReady(options: StartEtcdOptions, etcd: EtcdProcess, name: string): Promise<string | null> {
  let exited = false;
  void etcd.ended.then(() => (exited = true));
  const deadline = performance.now() + (options.readyTimeoutMs ?? READY_TIMEOUT_MS);
  const { credentials } = options;
  const client = etcdClient({
    ...{ endpoints: [etcd.clientUrl], credentials, callTimeoutMs: PROBE_TIMEOUT_MS },
  });
  try {
    while (performance.now() < deadline) {
      if (exited) return 'it ended at once';
      if (options.signal?.aborted === true) return 'it was told to end';
      if (await answers(client, name)) return null;
      await Promise.race([sleep(PROBE_PAUSE_MS), etcd.ended]);
    }
    return 'it did not become ready in time';
  } finally {
    client.close();
  }
}

/** Whether the server that was started, and no other, writes and reads. */
async function answers(client: ReturnType<typeof etcdClient>, name: string): Promise<boolean> {
  const key = Buffer.from(`/moorage-probe/${name}`);
  const value = randomBytes(8);
  try {
    await client.kv.put({ key, value });
    const { kvs } = await client.kv.range({ key });
    await client.kv.deleteRange({ key });
    const { members } = await client.cluster.memberList({});
    return kvs[0]?.value.equals(value) === true && members.some((member) => member.name === name);
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess, ended: EtcdProcess['ended']): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const abort = new AbortController();
  child.kill('SIGTERM');
  const overdue = sleep(STOP_GRACE_MS, undefined, { signal: abort.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await ended;
  abort.abort();
  await overdue;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  // All are open at once, so that the ports differ.
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            resolve(typeof address === 'object' && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** The last lines of the log of the server with this data. */
export function etcdLogTail(dataFolder: string): readonly string[] {
  const lines = readFileSync(join(dataFolder, 'etcd.log'), 'utf8').trimEnd().split('\n');
  return lines.slice(-LOG_TAIL_LINES);
}
