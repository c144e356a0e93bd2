import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { allocationCodec, eligibilityCodec } from '../../src/wire/records/records.ts';
import { BenchCell } from '../cell/cell.ts';
import { flagsOf } from '../testbed/flags.ts';
import { isLate } from '../testbed/late.ts';
import { percentile } from '../testbed/percentile.ts';
import { startBed } from '../testbed/testbed.ts';

/**
 * A rack of hosts vanishes at once, and returns: hollow hosts in two processes, of which one is stopped by a signal. Services fill
 * both; a tenant who lost nothing submits one small job after the other, before, meanwhile and after. Told are the time until every
 * service has all its instances on hosts that live, and until nothing is left to tidy up after the return; how long the other tenant's
 * jobs take from submit to end, and of the slow ones what took long; what the store is written, and the processor and memory of each
 * role.
 */
const flags = flagsOf({
  hosts: 10_000,
  vanish: 3_000,
  allocations: 30_000,
  services: 100,
  /** From the end of a host's session to the verdict on it, and the same for hosts that vanished together. */
  ...{ 'lost-after': '5s', 'mass-loss-wait': '10s' },
  /** Jobs of the other tenant before the loss. */
  quiet: 40,
  timeout: 900,
});
const { hosts, vanish, allocations, services } = flags;
const CELL = 'bench';
const TENANT = 'services';
const OTHER = 'other';
const EACH = Math.ceil(allocations / services);
const POLL_MS = 500;
/** It is told of a job of the other tenant that takes so long where the time went. */
const SLOW_MS = 1_000;
/** As often as a node of Kubernetes renews its lease, and as long as its controller waits. */
const BEAT = '10s';
const SILENCE = '40s';
const deadlineMs = performance.now() + flags.timeout * 1_000;

const bed = await startBed({ secured: CELL });
const cell = new BenchCell(bed, CELL);
const http = undiciClient({ credentials: bed.secured?.credentials });
const vanished = (host: string): boolean => host.startsWith('rack-b');

/** Records of the store, by key, as they are now. @returns what ends that */
function followRecords(
  prefix: string,
  to: { put(key: string, value: string): void; drop(key: string): void; clear(): void },
): () => void {
  const following = bed.store.follow(prefix, {
    onSnapshot: ({ entries }) => {
      to.clear();
      for (const { key, value } of entries.values()) to.put(key, value);
    },
    onChanges: (changes) => {
      for (const change of changes)
        if (change.kind === 'put') to.put(change.entry.key, change.entry.value);
        else to.drop(change.key);
    },
  });
  return () => following.close();
}

/** What is to run, by allocation, as the store has it. */
class Placed {
  readonly #hosts = new Map<string, string>();
  readonly #records = new Set<string>();
  readonly #close: () => void;
  #onLiveHosts = 0;

  constructor() {
    this.#close = followRecords(`${cellKeys(CELL).allocations}${TENANT}/`, {
      put: (key, value) => this.#put(key, allocationCodec.decode(value)),
      drop: (key) => this.#drop(key),
      clear: () => {
        this.#hosts.clear();
        this.#records.clear();
        this.#onLiveHosts = 0;
      },
    });
  }

  /** Allocations in the store, whatever is to become of them. */
  get records(): number {
    return this.#records.size;
  }

  get running(): number {
    return this.#hosts.size;
  }

  get onLiveHosts(): number {
    return this.#onLiveHosts;
  }

  close(): void {
    this.#close();
  }

  #put(key: string, { host, desired }: Allocation): void {
    this.#drop(key);
    this.#records.add(key);
    if (desired !== 'run') return;
    this.#hosts.set(key, host);
    if (!vanished(host)) this.#onLiveHosts += 1;
  }

  #drop(key: string): void {
    this.#records.delete(key);
    const host = this.#hosts.get(key);
    if (host === undefined) return;
    this.#hosts.delete(key);
    if (!vanished(host)) this.#onLiveHosts -= 1;
  }
}

/** Which hosts take new work, as the store has it: a monitor that is asked for a list of thousands has little time for others. */
class ReadyHosts {
  readonly #alive = new Set<string>();
  readonly #notReady = new Set<string>();
  readonly #close: readonly (() => void)[];

  constructor() {
    const keys = cellKeys(CELL);
    const follow = (prefix: string, set: Set<string>, isIn: (value: string) => boolean): (() => void) =>
      followRecords(prefix, {
        put: (key, value) => (isIn(value) ? set.add(key) : set.delete(key)),
        drop: (key) => set.delete(key),
        clear: () => set.clear(),
      });
    this.#close = [
      follow(keys.alive, this.#alive, () => true),
      follow(keys.eligibility, this.#notReady, (value) => eligibilityCodec.decode(value).state !== 'ready'),
    ];
  }

  get areAll(): boolean {
    return this.#alive.size === hosts && this.#notReady.size === 0;
  }

  close(): void {
    for (const close of this.#close) close();
  }
}

/** A question that the monitor does not take in time, or cannot answer now, is put again. */
const unlessLate = (error: unknown): false => {
  if (isLate(error)) return false;
  throw error;
};

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  while (!(await Promise.resolve(holds()).catch(unlessLate))) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not in time`);
    await sleep(POLL_MS);
  }
  return (performance.now() - startMs) / 1_000;
}

/** A call that did not come about is made again: to submit or ask the same twice counts once, and the time goes on. */
async function again<T>(call: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await call();
    } catch (error) {
      if (unlessLate(error) || performance.now() > deadlineMs) throw error;
    }
}

/** Where the time of a slow job went: in the answer to its submission, before it was placed, before it was started, or after its end. */
async function tellSlow(
  client: MonitorClient,
  job: string,
  [startMs, submittedMs, endMs]: readonly [number, number, number],
): Promise<void> {
  const { allocations, outcomes } = await again(() => client.status({ namespace: OTHER, job }));
  const since = (atMs = Number.NaN): string => (atMs - performance.timeOrigin - startMs).toFixed(0);
  const attempts = [
    ...outcomes.map((end) => ({ ...end, placedMs: Number.NaN })),
    ...allocations.map(({ allocation, report }) => ({
      ...{ ...report, ...allocation },
      placedMs: allocation.createdAtMs,
    })),
  ].map(
    ({ attempt, host, placedMs, startedAtMs, endedAtMs }) =>
      `${String(attempt)}:${host} placed_ms=${since(placedMs)} started_ms=${since(startedAtMs)} ended_ms=${since(endedAtMs)}`,
  );
  console.log(
    `storm slow=${job} took_ms=${(endMs - startMs).toFixed(0)} submitted_ms=${(submittedMs - startMs).toFixed(0)} attempts=(${attempts.join(', ')})`,
  );
}

/** One small job after the other until it is told to end. @returns how long each took, in ms */
function submitJobs(
  client: MonitorClient,
  name: string,
): { readonly tookMs: number[]; end(): Promise<void> } {
  const tookMs: number[] = [];
  let isOver = false;
  const work = (async (): Promise<void> => {
    for (let n = 1; !isOver; n++) {
      const job = `${name}-${String(n)}`;
      const startMs = performance.now();
      const file = {
        ...{ name: job, namespace: OTHER, type: 'batch', command: ['hollow'] },
        ...{ env: { HOLLOW_RUN_MS: '1' }, resources: { cpu: '10m', memory: '8Mi' } },
        // What was placed on the rack before anybody missed it goes elsewhere.
        reschedule: { onHostLost: true },
      };
      await again(() => client.submit(file));
      const submittedMs = performance.now();
      while ((await again(() => client.exit({ namespace: OTHER, job }, 5_000))) === null)
        if (performance.now() > deadlineMs) throw new Error(`${job} did not end in time`);
      const endMs = performance.now();
      tookMs.push(endMs - startMs);
      if (endMs - startMs > SLOW_MS) await tellSlow(client, job, [startMs, submittedMs, endMs]);
    }
  })();
  return {
    tookMs,
    end: async () => {
      isOver = true;
      await work;
    },
  };
}

/** Resident memory of each process, in MiB. */
function memoryMib(): string {
  return cell.processes.members
    .map(({ name, pid }) => {
      const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
      return `${name}:${String(Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024))}`;
    })
    .join(' ');
}

/** Share of one processor that each process took since then. */
function cpuShares(before: ReadonlyMap<string, number>, seconds: number): string {
  return [...cell.cpuSeconds()]
    .map(([name, used]) => `${name}:${((used - (before.get(name) ?? 0)) / seconds).toFixed(2)}`)
    .join(' ');
}

async function measured<T>(phase: string, client: MonitorClient, work: () => Promise<T>): Promise<T> {
  const [startMs, startCpu] = [performance.now(), cell.cpuSeconds()];
  const startRevision = (await bed.store.read([])).revision;
  const jobs = submitJobs(client, phase);
  const result = await work();
  await jobs.end();
  const seconds = (performance.now() - startMs) / 1_000;
  const writes = (await bed.store.read([])).revision - startRevision;
  console.log(
    `storm phase=${phase} seconds=${seconds.toFixed(1)} other_jobs=${String(jobs.tookMs.length)}` +
      ` other_p50_ms=${percentile(jobs.tookMs, 0.5).toFixed(0)} other_p99_ms=${percentile(jobs.tookMs, 0.99).toFixed(0)}` +
      ` other_most_ms=${Math.max(...jobs.tookMs).toFixed(0)} writes_per_second=${(writes / seconds).toFixed(0)}` +
      ` cpu=(${cpuShares(startCpu, seconds)}) memory_mib=(${memoryMib()})`,
  );
  return result;
}

async function startRoles(): Promise<{ readonly client: MonitorClient; readonly rackPid: number }> {
  const keys = join(bed.folder, 'keys');
  await makeKeyFiles(keys);
  await cell.role('arbiter', ['--keys', keys]);
  const files = join(bed.folder, 'hosts');
  mkdirSync(files);
  const hollow = async (rack: string, count: number, number: number): Promise<number> => {
    const list = Array.from({ length: count }, (_, index) => ({
      ...{ id: `rack-${rack}-${String(index + 1).padStart(5, '0')}`, cpuMilli: 4_000, memoryMib: 8_192 },
      attributes: { rack },
    }));
    const file = join(files, `${rack}.json`);
    writeFileSync(file, JSON.stringify(list));
    return (await cell.role('hollow', ['--hosts', file, '--beat', BEAT, '--keys', keys], number)).pid;
  };
  await hollow('a', hosts - vanish, 1);
  const rackPid = await hollow('b', vanish, 2);
  const times = ['--lost-after', flags['lost-after'], '--mass-loss-wait', flags['mass-loss-wait']];
  const monitor = await cell.role('monitor', ['--silence', SILENCE, ...times]);
  await cell.role('scheduler', ['--kind', 'service'], 1);
  await cell.role('scheduler', ['--kind', 'batch'], 2);
  return { client: new MonitorClient(http, { urls: [monitor.ready.address], from: 'the bench' }), rackPid };
}

async function submitServices(client: MonitorClient): Promise<void> {
  for (let n = 1; n <= services; n++) {
    const file = {
      ...{ name: `service-${String(n)}`, namespace: TENANT, type: 'service', count: EACH },
      ...{ command: ['hollow'], resources: { cpu: '100m', memory: '128Mi' } },
      reschedule: { onHostLost: true },
    };
    await again(() => client.submit(file));
  }
}

try {
  const { client, rackPid } = await startRoles();
  const isComplete = async (): Promise<boolean> => !(await client.hosts({ timeoutMs: 60_000 })).incomplete;
  await until('the hosts report', isComplete);
  const placed = new Placed();
  const ready = new ReadyHosts();
  await submitServices(client);
  const total = EACH * services;
  const runningS = await until('the services are placed', () => placed.running >= total);
  const reported = async (): Promise<number> => {
    const { jobs } = await client.jobs(TENANT, { timeoutMs: 60_000 });
    return jobs.reduce((sum, { counts }) => sum + counts.running, 0);
  };
  await until('the services run', async () => (await reported()) >= total);
  const before = placed.onLiveHosts;
  console.log(
    `storm hosts=${String(hosts)} vanish=${String(vanish)} allocations=${String(total)} placed_s=${runningS.toFixed(1)} on_the_rack=${String(total - before)}`,
  );
  await measured('quiet', client, () => sleep(flags.quiet * 500));
  process.kill(rackPid, 'SIGSTOP');
  try {
    const stableS = await measured('loss', client, () =>
      until('all is replaced', () => placed.onLiveHosts >= total),
    );
    console.log(`storm stable_s=${stableS.toFixed(1)}`);
  } finally {
    process.kill(rackPid, 'SIGCONT');
  }
  const tidyS = await measured('return', client, () =>
    until(
      'the return is tidied up',
      () => ready.areAll && placed.running === total && placed.records === total,
    ),
  );
  const moved = total - before - (total - placed.onLiveHosts);
  console.log(`storm returned_s=${tidyS.toFixed(1)} moved_for_good=${String(moved)}`);
  placed.close();
  ready.close();
} finally {
  await http.close();
  await cell.processes.stopAll();
  await bed.close();
}
