/**
 * What it costs a cell that everybody shows who he is: the benches `k8s-shape` and `oneoff` as processes of their own, with TLS,
 * certificates, and rights at every route and in the store, and without any of it, in turns (on, off, off, on). Tickets are on
 * in both. `npm run bench -- secured --rounds 2`
 */
import { spawnSync } from 'node:child_process';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';

/**
 * With fewer tasks beforehand a fifth of the processor goes into compiling the roles' code, which differs from run to run more
 * than TLS costs. With fewer tasks the last of them is durable at about the time at which starts begin, or not.
 */
const { rounds, hosts, tasks, init, runs, only } = flagsOf({
  ...{ rounds: 2, hosts: 5_000, tasks: 10_000, init: 4_000, runs: 200, only: '' },
});

interface Figure {
  readonly name: string;
  /** Of the bench's line. */
  readonly pattern: RegExp;
}

interface Measured {
  readonly bench: string;
  readonly args: readonly string[];
  readonly figures: readonly Figure[];
}

const MEASURED: readonly Measured[] = [
  {
    bench: 'k8s-shape',
    args: ['--hosts', String(hosts), '--tasks', String(tasks), '--init', String(init)],
    figures: [
      { name: 'committed a second', pattern: / per_second=(\d+)/ },
      { name: 'running a second', pattern: / running_per_second=(\d+)/ },
      { name: 'CPU us a task until running', pattern: / cpu_us_each_until_running=(\d+)/ },
    ],
  },
  {
    bench: 'oneoff',
    args: ['--runs', String(runs)],
    figures: [
      { name: 'p50 ms', pattern: / p50=([\d.]+)ms/ },
      { name: 'p99 ms', pattern: / p99=([\d.]+)ms/ },
    ],
  },
];

/** Nothing is measured in a run that fails, as when a busy server cuts a submission: it is told, and tried again. */
const TRIES_MAX = 3;

/** @returns the figures of one run */
function measure({ bench, args, figures }: Measured, isPlain: boolean): readonly number[] {
  const file = builtFile(`bench/cell/${bench}.js`);
  for (let tried = 1; ; tried++) {
    const all = [file, ...args, ...(isPlain ? ['--plain'] : [])];
    const { status, stdout, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8' });
    if (status === 0) {
      process.stdout.write(stdout);
      return figures.map(({ pattern }) => Number(pattern.exec(stdout)?.[1] ?? NaN));
    }
    const text = `${bench} ended with ${String(status)}: ${stderr}`;
    if (tried === TRIES_MAX) throw new Error(text);
    process.stdout.write(`${text}\n`);
  }
}

for (const measured of MEASURED.filter(({ bench }) => only === '' || bench === only)) {
  const on: (readonly number[])[] = [];
  const off: (readonly number[])[] = [];
  for (let round = 0; round < rounds; round++)
    for (const isPlain of [false, true, true, false]) (isPlain ? off : on).push(measure(measured, isPlain));
  measured.figures.forEach(({ name }, at) => {
    const median = (of: readonly (readonly number[])[]): number =>
      percentile(
        of.map((figures) => figures[at] ?? NaN),
        0.5,
      );
    const ratios = on.map((figures, turn) => (figures[at] ?? NaN) / (off[turn]?.[at] ?? NaN));
    // Of neighbours: the machine's own speed changes more from turn to turn than what is measured.
    const ratio = percentile(ratios, 0.5);
    process.stdout.write(
      `secured ${measured.bench} "${name}" on=${median(on).toFixed(1)} off=${median(off).toFixed(1)}` +
        ` ratio=${ratio.toFixed(2)} turns=${ratios.map((one) => one.toFixed(2)).join(',')}\n`,
    );
  });
}
