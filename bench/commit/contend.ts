import type { Bed } from '../testbed/testbed.ts';
import { startBed } from '../testbed/testbed.ts';
import type { CellEnd, Slice } from './contend-cell.ts';
import { ContendCell } from './contend-cell.ts';
import { percentile } from '../testbed/percentile.ts';
import { flagsOf } from '../testbed/flags.ts';

/**
 * Several scheduler processes on one half-full cell: the rate of all together against that of one, how often they were in
 * each other's way, and how long a commit took. Afterwards everything that was reported as committed must be in the store, and
 * the whole history must keep the invariants.
 *
 * The cells of a round, one for each number of processes, lie in one etcd, and all processes are warm before the first is
 * measured. Then they take turns of a second, there and back (1 4 4 1): so each is slowed alike when the
 * machine or the server becomes slower within a round.
 */
const options = flagsOf({
  hosts: 10_000,
  processes: '1,2,4,8',
  together: 64,
  inFlight: 8,
  seconds: 1,
  rounds: 3,
  /** How often they take their turns in a round, there and back. */
  turns: 3,
  seed: 1,
  strangers: false,
  pool: false,
  warmUp: 50_000,
});
const counts = options.processes.split(',').map(Number);

/** One round's slices and ends, by number of processes. */
interface Round {
  readonly etcdVersion: string;
  readonly slices: ReadonlyMap<number, readonly Slice[]>;
  readonly ends: ReadonlyMap<number, CellEnd>;
}

const rounds: Round[] = [];
for (let n = 1; n <= options.rounds; n++) rounds.push(await runRound());
for (const count of counts) reportOn(count);
for (const count of counts) if (count !== 1) reportRatio(count);

/** Each round has an etcd of its own: one that holds what the ones before wrote takes twice the time for a write. */
async function runRound(): Promise<Round> {
  const bed = await startBed();
  try {
    return await runRoundOn(bed);
  } finally {
    await bed.close();
  }
}

async function runRoundOn(bed: Bed): Promise<Round> {
  const cells = new Map<number, ContendCell>();
  for (const count of counts) cells.set(count, await ContendCell.start(bed, count, options));
  const slices = new Map<number, Slice[]>(counts.map((count) => [count, []]));
  for (let turn = 1; turn <= options.turns; turn++)
    for (const count of [...counts, ...counts.toReversed()])
      slices.get(count)?.push(await (cells.get(count) as ContendCell).slice());
  for (const [count, of] of slices)
    console.log(
      `contend round processes=${String(count)} per_second=${of.map((one) => one.perSecond.toFixed(0)).join(',')} ` +
        `cpu_us_each=${of.map((one) => one.cpuUsEach.toFixed(1)).join(',')} ` +
        `etcd_cpu_us_each=${of.map((one) => one.etcdCpuUsEach.toFixed(1)).join(',')}`,
    );
  const ends = new Map<number, CellEnd>();
  for (const [count, cell] of cells) {
    const end = await cell.end();
    ends.set(count, end);
    check(count, end);
  }
  return { etcdVersion: bed.etcdVersion, slices, ends };
}

function check(count: number, { commits, lost, unclaimed, history }: CellEnd): void {
  if (lost > 0 || unclaimed > 0 || history.verdict !== 'holds') process.exitCode = 1;
  console.log(
    `contend check processes=${String(count)} committed=${String(commits)} lost=${String(lost)} ` +
      `unclaimed=${String(unclaimed)} history=${history.verdict} ` +
      `revisions=${String(history.revisions)} violations=${String(history.violationsTotal)}`,
  );
  for (const { invariant, detail } of history.violations) console.log(`  ${invariant}: ${detail}`);
}

function reportOn(count: number): void {
  const slices = rounds.flatMap((round) => round.slices.get(count) ?? []);
  const ends = rounds.flatMap((round) => round.ends.get(count) ?? []);
  const of = (pick: (slice: Slice) => number): number => median(slices.map(pick));
  const share = (part: (end: CellEnd) => number, whole: (end: CellEnd) => number): number =>
    sum(ends.map(part)) / sum(ends.map(whole));
  const durations = slices.flatMap((slice) => slice.durationsMs);
  console.log(
    `contend processes=${String(count)} hosts=${String(options.hosts)} together=${String(options.together)} in_flight=${String(options.inFlight)} ` +
      `strangers=${String(options.strangers)} pool=${String(options.pool)} etcd=${rounds[0]?.etcdVersion ?? ''} seed=${String(options.seed)} ` +
      `per_second=${of((one) => one.perSecond).toFixed(0)} ` +
      `slices=${spread(slices.map((one) => one.perSecond))} ` +
      `cpu_us_each=${of((one) => one.cpuUsEach).toFixed(1)} ` +
      `etcd_cpu_us_each=${of((one) => one.etcdCpuUsEach).toFixed(1)} ` +
      `conflicts_per_commit=${share(
        ({ conflicted }) => conflicted,
        ({ commits }) => commits,
      ).toFixed(4)} ` +
      `rebases_per_commit=${share(
        ({ rebased }) => rebased,
        ({ commits }) => commits,
      ).toFixed(4)} ` +
      `refused_per_transaction=${share(
        ({ refused }) => refused,
        ({ transactions }) => transactions,
      ).toFixed(3)} ` +
      `commit_ms_p50=${percentile(durations, 0.5).toFixed(1)} p99=${percentile(durations, 0.99).toFixed(1)}`,
  );
}

/** Of the medians of a round's slices: a slice in which the server's heap grows is up to a third slower. */
function reportRatio(count: number): void {
  if (!counts.includes(1)) return;
  const rate = (round: Round, processes: number): number =>
    median((round.slices.get(processes) ?? []).map((one) => one.perSecond));
  const ratios = rounds.map((round) => rate(round, count) / rate(round, 1));
  const [low, high] = [Math.min(...ratios).toFixed(2), Math.max(...ratios).toFixed(2)];
  console.log(
    `contend ratio processes-${String(count)}-to-1 seed=${String(options.seed)} value=${median(ratios).toFixed(2)} ` +
      `rounds=${low}..${high}${count === 4 ? ' wanted=>=0.90' : ''}`,
  );
}

function spread(numbers: readonly number[]): string {
  return `${Math.min(...numbers).toFixed(0)}..${Math.max(...numbers).toFixed(0)}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** The mean of the two in the middle when there are as many on both sides. */
function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2;
}
