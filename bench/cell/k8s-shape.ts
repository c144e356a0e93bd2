import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { BULK_JOBS_MAX } from '../../src/wire/api/monitor-api.ts';
import { startBed } from '../testbed/testbed.ts';
import { makeRawWriter } from '../commit/raw-commits.ts';
import { BenchCell } from './cell.ts';
import { shapeOf } from './shapes.ts';
import { flagsOf } from '../testbed/flags.ts';
import { readMetrics } from '../testbed/metrics.ts';

/**
 * The shapes of the Kubernetes scheduler's own benchmark (scheduler_perf; see `shapes.ts`): equal tasks are placed beforehand,
 * then others are measured; each is submitted as a job of its own, or all as one, through the API to one scheduler, on
 * equal hosts. Counted from the first submission to the last commit; starts on the hosts go on meanwhile and after. Every
 * role is a process of its own, all on this machine, etcd included.
 */
const flags = flagsOf({
  /** `basic`, `spread`, `distinct` or `preempt`. */
  shape: 'basic',
  /** These three: 0 for as many as the shape has. */
  hosts: 0,
  tasks: 0,
  /** Placed and started before the time is taken. */
  init: 0,
  together: 1_000,
  /** So many share the jobs: with more than one, what they cost each other. */
  schedulers: 1,
  /** So many share the hosts; the schedulers and arbiters each follow one of them, and jobs are submitted to the first. */
  monitors: 1,
  /** Hosts start whatever a scheduler orders, and schedulers ask no arbiter: what tickets cost is the difference. */
  'no-tickets': false,
  /** Without TLS, certificates and users of the store: what they cost is the difference (`secured.ts`). */
  plain: false,
  /** Without a warm-up: the schedulers' code is compiled while it is measured. */
  cold: false,
  seed: 1,
  timeout: 300,
  /** Ends with the last commit: the tasks placed are not waited for until they run. */
  'placed-only': false,
});
const { schedulers, monitors, cold, seed, plain } = flags;
const shape = shapeOf(flags.shape);
const hosts = flags.hosts || shape.hosts;
const tasks = flags.tasks || shape.tasks;
const init = flags.init || shape.init;
const tickets = !flags['no-tickets'];
const together = Math.min(flags.together, BULK_JOBS_MAX);
const WANTED_RATIO = 30;
/** Fewer take so short that the reference says little. */
const RAW_MIN = 10_000;
const CELL = 'bench';
const MEASURED = 'default';
const POLL_MS = 500;
/** Starts are no part of the figure; they are looked at for so long. */
const STARTS_MAX_MS = flags['placed-only'] ? 0 : 30_000;

const bed = await startBed({ secured: plain ? undefined : CELL });
const { etcd, store } = bed;
const credentials = bed.secured?.credentials;
const cell = new BenchCell(bed, CELL);
const http = undiciClient({ credentials });

/** Watches how many allocations of a namespace are durable. */
function watchCommits(namespace: string): {
  readonly count: () => number;
  readonly done: Promise<number>;
  close(): void;
} {
  let count = 0;
  let finish: (atMs: number) => void = () => undefined;
  const done = new Promise<number>((resolve) => (finish = resolve));
  const following = store.follow(`${cellKeys(CELL).allocations}${namespace}/`, {
    // The first one, and those after a watch that was cut: nothing that was placed ends here.
    onSnapshot: ({ entries }) => {
      count = entries.size;
      if (count >= tasks) finish(performance.now());
    },
    onChanges: (changes) => {
      for (const change of changes)
        if (change.kind === 'put' && change.entry.createRevision === change.entry.modRevision) count += 1;
      if (count >= tasks) finish(performance.now());
    },
  });
  return { count: () => count, done, close: () => following.close() };
}

/** So that the monitor has a list to check while the one before is being written. */
const CALLS_AT_ONCE = 2;

/** What is submitted: so many tasks, each a job of its own or all in one. */
interface Submission {
  readonly namespace: string;
  readonly tasks: number;
  readonly isOneJob: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
}

async function submit(client: MonitorClient, submission: Submission): Promise<void> {
  const { namespace, isOneJob, fields } = submission;
  const tag = String(seededRandom(seed).below(1_000_000));
  const common = { namespace, type: 'batch', command: ['hollow'], ...fields };
  const jobs = isOneJob ? 1 : submission.tasks;
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < jobs) {
      const at = next;
      next += together;
      const files = Array.from({ length: Math.min(together, jobs - at) }, (_, i) => ({
        ...{ ...common, name: `task-${tag}-${String(at + i)}` },
        ...(isOneJob ? { count: submission.tasks } : {}),
      }));
      for (const result of (await client.submitMany(files, { timeoutMs: 60_000 })).results)
        if ('problem' in result) throw new Error(`a job was refused: ${result.problem.detail}`);
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, lane));
}

/** Each host has a stream or two open: more of them than files for one process. */
const HOSTS_A_PROCESS_MAX = 10_000;

/** Files of the hosts of each process that holds some. @returns their names */
function hostsFiles(): readonly string[] {
  const list = Array.from({ length: hosts }, (_, n) => ({
    id: `host-${String(n + 1).padStart(5, '0')}`,
    ...{ cpuMilli: 4_000, memoryMib: 32 * 1_024 },
    attributes: { zone: `zone-${String(n % shape.zones)}` },
  }));
  return Array.from({ length: Math.ceil(hosts / HOSTS_A_PROCESS_MAX) }, (_, part) => {
    const file = join(bed.folder, `hosts-${String(part)}.json`);
    const from = part * HOSTS_A_PROCESS_MAX;
    writeFileSync(file, JSON.stringify(list.slice(from, from + HOSTS_A_PROCESS_MAX)));
    return file;
  });
}

/** Microseconds of processor that each process took for one task, and all together. */
interface CpuEach {
  readonly us: number;
  /** Of that, the schedulers. */
  readonly schedulerUs: number;
  readonly text: string;
}

function cpuEach(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  count = tasks,
): CpuEach {
  let us = 0;
  let schedulerUs = 0;
  const parts = [...after].map(([name, seconds]) => {
    const each = ((seconds - (before.get(name) ?? 0)) * 1e6) / count;
    us += each;
    if (name.startsWith('scheduler')) schedulerUs += each;
    return `${name}:${each.toFixed(0)}`;
  });
  return { us, schedulerUs, text: `${us.toFixed(0)} (${parts.join(' ')})` };
}

/** Of how many allocations hosts have reported to the monitor; a question that costs it next to nothing. */
async function reportedAllocations(monitorUrl: string): Promise<number> {
  return (await readMetrics(http, monitorUrl)).get('moorage_monitor_reported_allocations') ?? 0;
}

/** Waits for the starts on the hosts, as long as they are given. @returns how many run, and when that was seen */
async function untilRunning(
  { client, monitorUrl }: { readonly client: MonitorClient; readonly monitorUrl: string },
  namespace: string,
  { jobsWanted, reportedWanted }: { readonly jobsWanted: number; readonly reportedWanted: number },
  maxMs: number,
): Promise<{ readonly running: number; readonly atMs: number }> {
  const deadlineMs = performance.now() + maxMs;
  while ((await reportedAllocations(monitorUrl)) < reportedWanted && performance.now() < deadlineMs)
    await sleep(POLL_MS);
  for (;;) {
    const { jobs } = await client.jobs(namespace, { timeoutMs: 60_000 });
    const running = jobs.reduce((sum, job) => sum + job.counts.running, 0);
    const atMs = performance.now();
    if (running >= jobsWanted || atMs > deadlineMs) return { running, atMs };
    await sleep(POLL_MS);
  }
}

try {
  const keys = join(bed.folder, 'keys');
  await makeKeyFiles(keys);
  if (tickets) await cell.role('arbiter', ['--keys', keys]);
  const signed = tickets ? ['--keys', keys] : ['--no-tickets'];
  for (const [part, file] of hostsFiles().entries())
    await cell.role('hollow', ['--hosts', file, ...signed], part + 1);
  const monitor = await cell.role('monitor', []);
  for (let number = 2; number <= monitors; number++) await cell.role('monitor', [], number);
  const batch = [
    '--kind',
    'batch',
    ...(tickets ? [] : ['--no-tickets']),
    ...(cold ? ['--rehearse', 'never'] : []),
  ];
  for (let number = 1; number <= schedulers; number++) await cell.role('scheduler', batch, number);
  const client = new MonitorClient(http, { urls: [monitor.ready.address], from: 'the bench' });
  const deadlineMs = performance.now() + flags.timeout * 1_000;
  // A job beforehand: every connection is open, and every path has been taken once.
  const commits = watchCommits(MEASURED);
  await untilHostsReport(client, deadlineMs);
  await runFirstJob(client, deadlineMs);
  await submit(client, { namespace: 'init', tasks: init, isOneJob: false, fields: shape.before });
  const asked = { client, monitorUrl: monitor.ready.address };
  const before = { jobsWanted: init, reportedWanted: init };
  if ((await untilRunning(asked, 'init', before, flags.timeout * 1_000)).running < init)
    throw new Error('what is placed beforehand did not run in time');
  if (!cold) await cell.untilSchedulersRest(deadlineMs);
  const startMs = performance.now();
  const startRevision = (await store.read([])).revision;
  const startCpu = cell.cpuSeconds();
  const { isOneJob, measured: fields } = shape;
  await submit(client, { namespace: MEASURED, tasks, isOneJob, fields });
  const submittedMs = performance.now();
  const late = setTimeout(() => {
    process.stderr.write(`only ${String(commits.count())} of the tasks were placed in time\n`);
    process.exit(1);
  }, flags.timeout * 1_000);
  const committedMs = await commits.done;
  const committedCpu = cell.cpuSeconds();
  const transactions = (await store.read([])).revision - startRevision;
  clearTimeout(late);
  commits.close();
  const { running, atMs: runningMs } = await untilRunning(
    asked,
    MEASURED,
    {
      jobsWanted: tasks,
      // What is preempted is reported no longer than until it is gone.
      reportedWanted: flags.shape === 'preempt' ? tasks : init + tasks,
    },
    STARTS_MAX_MS,
  );
  const runningCpu = cell.cpuSeconds();
  const { schedulers: statuses } = await client.schedulers();
  const perSecond = tasks / ((committedMs - startMs) / 1_000);
  const seconds = (untilMs: number): string => ((untilMs - startMs) / 1_000).toFixed(2);
  const conflicts = statuses.reduce((sum, one) => sum + one.conflicted, 0);
  const rebases = statuses.reduce((sum, one) => sum + one.rebased, 0);
  const refused = statuses.reduce((sum, one) => sum + one.startsRefused, 0);
  const committed = statuses.map((one) => one.committed);
  // What is placed and does not run yet would start beside the reference.
  if (flags['placed-only']) await cell.processes.stopAll();
  const beforeRaw = cell.cpuSeconds();
  const rawTasks = Math.max(tasks, RAW_MIN);
  const raw = await rawPerSecond(rawTasks);
  const rawCpu = cpuEach(onlyRaw(beforeRaw), onlyRaw(cell.cpuSeconds()), rawTasks);
  const committedCpuEach = cpuEach(startCpu, committedCpu);
  const untilRunningCpu = cpuEach(startCpu, runningCpu);
  const runningPerSecond = running / ((runningMs - startMs) / 1_000);
  console.log(
    `k8s-shape shape=${flags.shape} hosts=${String(hosts)} tasks=${String(tasks)} init=${String(init)} together=${String(together)} schedulers=${String(schedulers)} monitors=${String(monitors)} tickets=${tickets ? 'on' : 'off'} tls=${plain ? 'off' : 'on'} rehearsed=${cold ? 'no' : 'yes'}` +
      ` etcd=${bed.etcdVersion} seed=${String(seed)} submitted_s=${seconds(submittedMs)} committed_s=${seconds(committedMs)}` +
      ` running=${String(running)} running_s=${seconds(runningMs)} per_second=${perSecond.toFixed(0)} cpu_us_each=${committedCpuEach.text} scheduler_cpu_us_each=${committedCpuEach.schedulerUs.toFixed(0)} cpu_us_each_until_running=${untilRunningCpu.text}` +
      ` transactions=${String(transactions)} conflicts=${String(conflicts)} rebases=${String(rebases)} starts_refused=${String(refused)} committed_each=${committed.join(',')} raw_per_second=${raw.toFixed(0)} raw_cpu_us_each=${rawCpu.text} ratio_to_raw=${(perSecond / raw).toFixed(3)}` +
      ` running_per_second=${runningPerSecond.toFixed(0)} running_ratio_to_raw=${(runningPerSecond / raw).toFixed(3)} cpu_ratio_to_raw=${(untilRunningCpu.us / rawCpu.us).toFixed(1)}` +
      ` ratio_to_${String(shape.kubernetesPerSecond)}=${(perSecond / shape.kubernetesPerSecond).toFixed(1)} wanted=>=${String(WANTED_RATIO)}`,
  );
} finally {
  await http.close();
  await cell.processes.stopAll();
  await bed.close();
}

async function runFirstJob(client: MonitorClient, deadlineMs: number): Promise<void> {
  await client.submit({
    name: 'first',
    namespace: 'warmup',
    type: 'batch',
    command: ['hollow'],
    env: { HOLLOW_RUN_MS: '1' },
  });
  while (!(await hasEnded(client)))
    if (performance.now() > deadlineMs) throw new Error('the first job did not end in time');
}

/** A monitor that has just begun may not have seen a job that it has written, and is as busy as its store with all hosts. */
async function hasEnded(client: MonitorClient): Promise<boolean> {
  try {
    return (await client.exit({ namespace: 'warmup', job: 'first' }, 1_000)) !== null;
  } catch (error) {
    if (error instanceof ProblemError && [404, 503].includes(error.problem.status)) return false;
    throw error;
  }
}

/** The monitor opens a stream to every host once; that is no part of what is measured. */
async function untilHostsReport(client: MonitorClient, deadlineMs: number): Promise<void> {
  // On a loaded machine it may be too busy with these streams to accept a connection in time.
  const isIncomplete = () =>
    client.hosts({ timeoutMs: 60_000 }).then(
      ({ incomplete }) => incomplete,
      () => true,
    );
  while (await isIncomplete()) {
    if (performance.now() > deadlineMs) throw new Error('the hosts did not all report in time');
    await sleep(POLL_MS);
  }
}

/** Of the processes, those that the raw commits use: the bench as their client, and etcd. */
function onlyRaw(used: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...used].filter(([name]) => name === 'bench' || name === 'etcd'));
}

async function rawPerSecond(count: number): Promise<number> {
  const raw = makeRawWriter({
    ...{ endpoints: [etcd.clientUrl], credentials, keys: cellKeys('raw'), hosts, seed },
    ...{ together: 64, inFlight: 8 },
  });
  try {
    const startMs = performance.now();
    await raw.write(count);
    return count / ((performance.now() - startMs) / 1_000);
  } finally {
    raw.close();
  }
}
