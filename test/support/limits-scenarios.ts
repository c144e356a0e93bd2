import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { openLimits } from '../../host-agent/limits/control-groups.ts';
import type { Limits, LimitsDriver } from '../../host-agent/limits/limits.ts';
import { linuxCgroups } from '../../src/adapters/processes/cgroups.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';

/**
 * What a limits driver does on a real kernel, as facts that can be written down: the same on the machine of the tests and
 * inside another kernel, from which only a file comes back.
 */
export interface LimitsFacts {
  readonly enforced: LimitsDriver['enforced'];
  /** A task that takes memory without end, beside one that does not. */
  readonly hog: { readonly signal: string | null; readonly oomKills: number; readonly peakMib: number };
  readonly neighbour: { readonly alive: boolean; readonly oomKills: number };
  /** A task that never pauses, held to a fifth of a core. */
  readonly throttledPeriods: number;
  /** A task that forks without end, held to twenty processes. */
  readonly bomb: { readonly pids: number; readonly refused: boolean };
  /** Escaped into sessions of their own, stopped, deaf to SIGTERM. */
  readonly killed: { readonly before: number; readonly populatedAfter: boolean };
  readonly destroyed: { readonly whilePopulated: boolean; readonly afterKill: boolean };
  readonly frozen: string;
  readonly raised: string;
  readonly lowered: string;
  /** Of a driver of the same owner, of another owner, and after all was destroyed. */
  readonly listed: {
    readonly own: readonly string[];
    readonly others: readonly string[];
    readonly after: readonly string[];
  };
  /** Where reads and writes are held: what came of tasks that had `IO_BYTES_MAX` a second, and of one that had no bound. */
  readonly io: IoFacts | null;
  /** Where v2 holds memory: throttled at `memory.high`, and not killed. */
  readonly high: { readonly events: boolean; readonly oomKills: number } | null;
}

/** Bytes a second. */
export interface IoFacts {
  readonly written: number;
  readonly read: number;
  /** Through the page cache, and synced. Null with v1, which does not hold it. */
  readonly synced: number | null;
  readonly writtenFreely: number;
}

const FREE_TRIES_MAX = 5;
export const IO_BYTES_MAX = 1024 * 1024;

const UNLIMITED: Limits = {
  memoryMaxMib: null,
  memoryHighMib: null,
  cpuMilli: 100,
  cpuMaxMilli: null,
  pidsMax: null,
  ioReadBytes: null,
  ioWriteBytes: null,
};

/** @param owner nobody else's on this machine */
export async function limitsFacts(owner: string, folder: string): Promise<LimitsFacts> {
  const cgroups = linuxCgroups();
  const open = (name: string): Promise<LimitsDriver> =>
    openLimits(cgroups, silentLog, { owner: name, parent: '', folder });
  const driver = await open(owner);
  const tasks = new Tasks(driver);
  try {
    const neighbour = await tasks.start('neighbour', { memoryMaxMib: 32 }, 'sleep 1000');
    const hog = await hogFacts(tasks);
    const others = await (await open(`${owner}-other`)).list();
    const own = await driver.list();
    const facts = {
      enforced: driver.enforced,
      hog,
      neighbour: { alive: neighbour.exitCode === null, oomKills: await driver.oomKills('neighbour') },
      throttledPeriods: await throttleFacts(tasks),
      bomb: await bombFacts(tasks),
      ...(await killFacts(tasks)),
      frozen: await freezeFacts(tasks),
      ...(await updateFacts(tasks)),
      io: driver.enforced.io === 'none' ? null : await ioFacts(tasks, folder),
      high: driver.enforced.memory === 'v2' ? await highFacts(tasks) : null,
    };
    await tasks.endAll();
    return { ...facts, listed: { own, others, after: await driver.list() } };
  } finally {
    await tasks.endAll();
  }
}

class Tasks {
  readonly driver: LimitsDriver;
  readonly #names = new Set<string>();
  readonly #freezeFiles = new Map<string, string>();

  constructor(driver: LimitsDriver) {
    this.driver = driver;
  }

  async start(name: string, limits: Partial<Limits>, script: string): Promise<ChildProcess> {
    this.#names.add(name);
    const groups = await this.driver.create(name, { ...UNLIMITED, ...limits });
    this.#freezeFiles.set(name, groups.freezeFile ?? '');
    const join = groups.procs.map((file) => `echo 0 > ${file} || exit 99`).join('\n');
    return spawn('sh', ['-c', `${join}\nexec sh -c '${script}'`], { stdio: 'ignore', detached: true });
  }

  freezeFile(name: string): string {
    return this.#freezeFiles.get(name) ?? '';
  }

  async endAll(): Promise<void> {
    for (const name of this.#names) {
      await this.driver.freeze(name, false);
      await this.driver.kill(name);
      await until(() => this.driver.destroy(name));
      this.#names.delete(name);
    }
  }
}

async function hogFacts(tasks: Tasks): Promise<LimitsFacts['hog']> {
  const child = await tasks.start('hog', { memoryMaxMib: 24 }, 'exec tail /dev/zero');
  const signal = await new Promise<string | null>((done) => child.once('exit', (_code, how) => done(how)));
  const { memoryPeakBytes = 0 } = await tasks.driver.stat('hog');
  return {
    signal,
    oomKills: await tasks.driver.oomKills('hog'),
    peakMib: Math.round(memoryPeakBytes / 1024 / 1024),
  };
}

async function throttleFacts(tasks: Tasks): Promise<number> {
  await tasks.start('spinner', { cpuMaxMilli: 200 }, 'while :; do :; done');
  const periods = async (): Promise<number> => (await tasks.driver.stat('spinner')).throttledPeriods ?? 0;
  await until(async () => (await periods()) >= 3);
  return periods();
}

async function bombFacts(tasks: Tasks): Promise<LimitsFacts['bomb']> {
  const { driver } = tasks;
  await tasks.start('bomb', { pidsMax: 20 }, 'while :; do setsid sleep 1000 & done');
  await until(async () => ((await driver.stat('bomb')).pidsRefused ?? 0) > 0);
  const { pids = 0, pidsRefused = 0 } = await driver.stat('bomb');
  return { pids, refused: pidsRefused > 0 };
}

const STUBBORN = `trap "" TERM HUP INT
setsid sh -c "trap \\"\\" TERM; sleep 1000" &
sleep 1000 &
kill -STOP $!
sleep 1000`;

async function killFacts(tasks: Tasks): Promise<Pick<LimitsFacts, 'killed' | 'destroyed'>> {
  const { driver } = tasks;
  await tasks.start('stubborn', {}, STUBBORN);
  const count = async (): Promise<number> => (await driver.stat('stubborn')).pids ?? 0;
  await until(async () => (await count()) >= 5);
  const before = await count();
  const whilePopulated = await driver.destroy('stubborn');
  await driver.kill('stubborn');
  await until(async () => !(await driver.populated('stubborn')));
  const populatedAfter = await driver.populated('stubborn');
  await until(() => driver.destroy('stubborn'));
  return {
    killed: { before, populatedAfter },
    destroyed: { whilePopulated, afterKill: await driver.destroy('stubborn') },
  };
}

async function freezeFacts(tasks: Tasks): Promise<string> {
  await tasks.start('sleeper', {}, 'while :; do :; done');
  await until(() => tasks.driver.populated('sleeper'));
  await tasks.driver.freeze('sleeper', true);
  const file = tasks.freezeFile('sleeper');
  const cgroups = linuxCgroups();
  const state = async (): Promise<string> => {
    if (file.endsWith('freezer.state')) return ((await cgroups.read(file)) ?? '').trim();
    const events = (await cgroups.read(file.replace('cgroup.freeze', 'cgroup.events'))) ?? '';
    return events.includes('frozen 1') ? 'FROZEN' : events;
  };
  await until(async () => (await state()) === 'FROZEN');
  return state();
}

async function updateFacts(tasks: Tasks): Promise<Pick<LimitsFacts, 'raised' | 'lowered'>> {
  const { driver } = tasks;
  await tasks.start('changed', { memoryMaxMib: 32 }, 'sleep 1000');
  const update = (memoryMaxMib: number): Promise<string> =>
    driver.update('changed', { ...UNLIMITED, memoryMaxMib }).then(
      () => 'done',
      (error: unknown) => String(error),
    );
  return { raised: await update(64), lowered: await update(16) };
}

async function ioFacts(tasks: Tasks, folder: string): Promise<IoFacts> {
  const bytes = 2 * IO_BYTES_MAX;
  const file = `${folder}/moorage-io-${String(process.pid)}`;
  const blocks = `bs=65536 count=${String(bytes / 65_536)}`;
  const bound = { ioReadBytes: IO_BYTES_MAX, ioWriteBytes: IO_BYTES_MAX };
  const rate = async (name: string, limits: Partial<Limits>, command: string): Promise<number> => {
    const sinceMs = performance.now();
    const child = await tasks.start(name, limits, command);
    const code = await new Promise((done) => child.once('exit', done));
    if (code !== 0) throw new Error(`${command} ended with ${String(code)}`);
    return (bytes * 1000) / (performance.now() - sinceMs);
  };
  const write = (path: string): string => `dd if=/dev/zero of=${path} ${blocks}`;
  // What goes through the page cache is charged to the group that a file belongs to: its first writer's.
  const fresh = `${file}-synced`;
  try {
    // A disk may be held up by others for a moment; one that never is faster is another matter.
    let writtenFreely = 0;
    for (let tries = 0; tries < FREE_TRIES_MAX && writtenFreely < 2 * IO_BYTES_MAX; tries++)
      writtenFreely = await rate(`free-${String(tries)}`, {}, `${write(file)} oflag=direct`);
    return {
      writtenFreely,
      written: await rate('writer', bound, `${write(file)} oflag=direct`),
      read: await rate('reader', bound, `dd if=${file} of=/dev/null ${blocks} iflag=direct`),
      synced:
        tasks.driver.enforced.io === 'v2' ? await rate('syncer', bound, `${write(fresh)} conv=fsync`) : null,
    };
  } finally {
    for (const path of [file, fresh]) rmSync(path, { force: true });
  }
}

async function highFacts(tasks: Tasks): Promise<LimitsFacts['high']> {
  const limits = { memoryHighMib: 16, memoryMaxMib: 128 };
  const groups = tasks.driver;
  await tasks.start('slowed', limits, 'exec tail /dev/zero');
  const file = tasks.freezeFile('slowed').replace('cgroup.freeze', 'memory.events');
  const events = async (): Promise<number> =>
    Number(/^high (\d+)$/m.exec((await linuxCgroups().read(file)) ?? '')?.[1] ?? 0);
  await until(async () => (await events()) > 0);
  return { events: (await events()) > 0, oomKills: await groups.oomKills('slowed') };
}

/** Bounded by the deadline of the test. */
async function until(test: () => Promise<boolean>): Promise<void> {
  while (!(await test())) await new Promise((next) => setTimeout(next, 10));
}
