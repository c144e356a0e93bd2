import type { Suspect } from '../../src/core/detector/suspects.ts';
import { domainSuspect, hostSuspect, revisionSuspect } from '../../src/core/detector/suspects.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { Faults, ModelHost, ModelTask } from './model.ts';
import { ModelCell, STEP_MS } from './model.ts';

/** What is wrong in a case; `innocents`, `flaky-network` and `registry`: nobody of the cell is at fault. */
export const CASES = [
  'bad-revision',
  'bad-host',
  'disk-full',
  'bad-rack',
  'late-kernel',
  'bad-registry',
  'flaky-network',
  'innocents',
] as const;
export type Case = (typeof CASES)[number];

export interface CaseResult {
  readonly seed: number;
  /** Who is at fault; null: nobody. */
  readonly truth: Suspect | null;
  /** Who was found, in order. */
  readonly found: readonly Suspect[];
  /** Who else was found: hosts of the domain at fault, before it was known that it is the domain. */
  readonly partly: readonly Suspect[];
  /** From the first failure for which the truth is to blame; null: it was not found. */
  readonly afterMs: number | null;
}

const BEGIN_MS = 120_000;
const END_MS = 20 * 60_000;
/** The kernel of the late case is installed long before: nothing is said of it as a change. */
const LATE_MS = 3 * 24 * 3_600_000;
/** How often it is asked who is at fault, while there are failures. */
const JUDGED_MS = 6_000;
const JOBS_LEAST = 4;
const NOISE = 0.000_2;

/** Runs one case: everything is drawn from the seed. */
export function runCase(name: Case, seed: number): CaseResult {
  const random = seededRandom(seed).split(`detector ${name}`);
  const world = new CaseWorld(name, random);
  return { seed, ...world.run() };
}

class CaseWorld {
  readonly #name: Case;
  readonly #random: SeededRandom;
  readonly #cell: ModelCell;
  readonly #jobs: number;
  readonly #target: ModelHost;
  readonly #badJob: number;
  readonly #strength: number;
  readonly #crashMs: number;
  /** Hosts of the late kernel show it one after the other. */
  readonly #onsetMs = new Map<string, number>();
  readonly #quirks: ReadonlySet<ModelTask>;
  /** Revisions that are being rolled out: job to version. */
  readonly #rolling = new Map<number, number>();
  #firstMs: number | null = null;

  constructor(name: Case, random: SeededRandom) {
    this.#name = name;
    this.#random = random;
    const hosts = drawnHosts(16 + random.below(60), random.split('hosts'));
    this.#jobs = 12 + random.below(30);
    this.#badJob = random.below(3);
    this.#strength = 0.85 + 0.15 * random.fraction();
    this.#crashMs = 1_000 + random.below(name === 'late-kernel' ? 60_000 : 30_000);
    for (const { name: host } of hosts) this.#onsetMs.set(host, random.below(8 * 60_000));
    const faults: Faults = {
      failureChance: (task, nowMs) => this.#failureChance(task, nowMs),
      fetchChance: (task, nowMs) => this.#fetchChance(task, nowMs),
      refusalChance: (task, nowMs) => this.#refusalChance(task, nowMs),
      failsAfterMs: () => 500 + random.below(this.#crashMs),
    };
    this.#cell = new ModelCell(
      hosts,
      random.split('tasks'),
      faults,
      (job) => `https://registry-${String(job % 3)}`,
    );
    if (name === 'late-kernel') this.#cell.nowMs = LATE_MS;
    this.#place(hosts);
    this.#target = this.#drawnTarget(hosts);
    // Look-alikes: single tasks that never come up, which are nobody's fault but their own.
    const own = random.split('quirks');
    this.#quirks = new Set(Array.from({ length: own.below(3) }, () => picked(this.#cell.tasks, own)));
  }

  run(): Omit<CaseResult, 'seed'> {
    const cell = this.#cell;
    const startMs = cell.nowMs;
    const found: Suspect[] = [];
    const partly: Suspect[] = [];
    let afterMs: number | null = null;
    let failures = 0;
    while (cell.nowMs - startMs < END_MS) {
      const nowMs = cell.nowMs - startMs;
      this.#operate(nowMs);
      cell.step();
      if (nowMs % JUDGED_MS > 0 || cell.detector.failures === failures) continue;
      failures = cell.detector.failures;
      for (const { suspect, isDecided, rivals } of cell.detector.judge(cell.nowMs, cell.census())) {
        if (!isDecided || found.includes(suspect)) continue;
        const truth = this.#truth();
        // Attributes that always go together cannot be told apart: the verdict names all of them.
        const name = truth !== null && rivals.includes(truth) ? truth : suspect;
        if (found.includes(name) || partly.includes(name)) continue;
        (this.#isMember(name) ? partly : found).push(name);
        if (name === truth) afterMs ??= cell.nowMs - (this.#firstMs ?? cell.nowMs);
      }
    }
    return { truth: this.#truth(), found, partly, afterMs };
  }

  /** Is it a host of the domain at fault? */
  #isMember(suspect: Suspect): boolean {
    const host = this.#cell.hosts.find(({ name }) => hostSuspect(name) === suspect);
    const attribute = this.#name === 'bad-rack' ? 'rack' : this.#name === 'late-kernel' ? 'kernel' : null;
    return attribute !== null && host?.domains[attribute] === this.#target.domains[attribute];
  }

  #truth(): Suspect | null {
    const job = `job-${String(this.#badJob)}`;
    switch (this.#name) {
      case 'bad-revision':
        return revisionSuspect({ namespace: 'default', job, group: job, version: 2 });
      case 'bad-host':
      case 'disk-full':
        return hostSuspect(this.#target.name);
      case 'bad-rack':
        return domainSuspect('rack', this.#target.domains['rack'] ?? '');
      case 'late-kernel':
        return domainSuspect('kernel', this.#target.domains['kernel'] ?? '');
      case 'bad-registry':
        return `registry/https://registry-${String(this.#badJob % 3)}`;
      case 'flaky-network':
      case 'innocents':
        return null;
    }
  }

  /** A host with enough work to compare: what runs nowhere else says nothing of its host. */
  #drawnTarget(hosts: readonly ModelHost[]): ModelHost {
    const jobsOn = (host: ModelHost): number =>
      new Set(this.#cell.tasks.filter((task) => task.host === host).map(({ job }) => job)).size;
    const most = Math.max(...hosts.map(jobsOn));
    return picked(
      hosts.filter((host) => jobsOn(host) >= Math.min(JOBS_LEAST, most)),
      this.#random,
    );
  }

  /** The first three jobs are large; many others have one task or a few. */
  #place(hosts: readonly ModelHost[]): void {
    for (let job = 0; job < this.#jobs; job++) {
      const most = job < 3 ? hosts.length : 1 + this.#random.below(6);
      const least = job < 3 ? Math.min(8, hosts.length) : 1;
      const count = least + this.#random.below(Math.max(1, most - least));
      const order = shuffled(hosts, this.#random);
      for (let n = 0; n < count; n++) this.#cell.add(job, order[n % order.length]!);
    }
  }

  /** Updates, one task after another; restarts; tasks that move to the target. */
  #operate(nowMs: number): void {
    const random = this.#random;
    if (nowMs === BEGIN_MS) {
      if (this.#name === 'bad-revision') this.#rolling.set(this.#badJob, 2);
      // Another update is under way, and is good.
      this.#rolling.set(3 + random.below(this.#jobs - 3), 2);
      if (this.#name === 'bad-registry')
        for (let job = 0; job < this.#jobs; job++)
          if (job % 3 === this.#badJob % 3 || random.below(2) === 0) this.#rolling.set(job, 2);
    }
    for (const [job, version] of this.#rolling) {
      if (random.below(4) > 0) continue;
      const old = this.#cell.tasks.find((task) => task.job === job && task.version < version);
      if (old === undefined) this.#rolling.delete(job);
      else this.#cell.update(old, version);
    }
    if (nowMs > BEGIN_MS && random.below(10) === 0) {
      const onTarget = this.#cell.tasks.filter(({ host }) => host === this.#target);
      const isOnTarget = this.#name === 'disk-full' && random.below(2) === 0;
      const chosen = isOnTarget && onTarget.length > 0 ? onTarget : this.#cell.tasks;
      this.#cell.restart(picked(chosen, random));
    }
    // Runs of a batch, of which some fail wherever they are.
    if (this.#name === 'innocents')
      for (const task of this.#cell.tasks) if (task.job % 5 === 4 && random.below(15) === 0) this.#end(task);
    // A host is rebooted: all that it runs ends once, and comes back.
    if (this.#name === 'innocents' && nowMs % 240_000 < STEP_MS) {
      const host = picked(this.#cell.hosts, random);
      for (const task of this.#cell.tasks) if (task.host === host) this.#cell.restart(task);
    }
  }

  #end(task: ModelTask): void {
    if (this.#random.below(5) === 0) this.#cell.fail(task);
    else this.#cell.finish(task);
  }

  #failureChance(task: ModelTask, nowMs: number): number {
    if (this.#quirks.has(task)) return 1;
    const sinceMs = this.#sinceMs(nowMs);
    if (sinceMs < 0) return NOISE;
    const guilty = this.#isGuilty(task, sinceMs);
    if (guilty > NOISE) this.#firstMs ??= nowMs;
    return Math.max(NOISE, guilty);
  }

  #isGuilty(task: ModelTask, sinceMs: number): number {
    const { host } = task;
    switch (this.#name) {
      case 'bad-revision':
        return task.job === this.#badJob && task.version === 2 ? this.#strength : 0;
      case 'bad-host':
        return host === this.#target ? this.#strength : 0;
      case 'bad-rack':
        return host.domains['rack'] === this.#target.domains['rack'] ? this.#strength : 0;
      case 'late-kernel':
        return host.domains['kernel'] === this.#target.domains['kernel'] &&
          sinceMs > (this.#onsetMs.get(host.name) ?? 0)
          ? this.#strength
          : 0;
      case 'flaky-network':
        return sinceMs < 8 * 60_000 ? 0.02 : 0;
      case 'innocents':
        return 0;
      case 'disk-full':
      case 'bad-registry':
        return 0;
    }
  }

  #refusalChance(task: ModelTask, nowMs: number): number {
    if (this.#sinceMs(nowMs) < 0) return 0;
    const isGuilty = this.#name === 'disk-full' && task.host === this.#target;
    if (isGuilty) this.#firstMs ??= nowMs;
    return isGuilty ? this.#strength : this.#name === 'flaky-network' ? 0.2 : 0;
  }

  #fetchChance({ job, isFetched }: ModelTask, nowMs: number): number {
    if (isFetched || this.#sinceMs(nowMs) < 0) return 0;
    const isGuilty = this.#name === 'bad-registry' && job % 3 === this.#badJob % 3;
    if (isGuilty) this.#firstMs ??= nowMs;
    return isGuilty ? this.#strength : this.#name === 'flaky-network' ? 0.3 : 0;
  }

  #sinceMs(nowMs: number): number {
    return nowMs - (this.#name === 'late-kernel' ? LATE_MS : 0) - BEGIN_MS;
  }
}

function drawnHosts(count: number, random: SeededRandom): readonly ModelHost[] {
  const perRack = 4 + random.below(5);
  return Array.from({ length: count }, (_, n) => ({
    name: `host-${String(n)}`,
    domains: {
      rack: `r${String(Math.floor(n / perRack))}`,
      kernel: `6.${String(random.below(3))}`,
      agent: `1.${String(random.below(2))}`,
      pool: n % 4 === 0 ? 'gpu' : 'general',
    },
  }));
}

function picked<T>(items: readonly T[], random: SeededRandom): T {
  return items[random.below(items.length)]!;
}

function shuffled<T>(items: readonly T[], random: SeededRandom): readonly T[] {
  const left = [...items];
  for (let n = left.length - 1; n > 0; n--) {
    const other = random.below(n + 1);
    [left[n], left[other]] = [left[other]!, left[n]!];
  }
  return left;
}
