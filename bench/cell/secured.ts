/**
 * What it costs a cell that everybody shows who he is: the benches `k8s-shape` and `oneoff` as processes of their own, with TLS,
 * certificates, and rights at every route and in the store, and without any of it; `k8s-shape` in turns (on, off, off, on),
 * `oneoff` on two cells at once. Tickets are on in both. `npm run bench -- secured --rounds 2`
 *
 * `--what tickets`: what tickets cost, by `k8s-shape` in such turns. TLS and rights are on in both.
 */
import { spawnSync } from 'node:child_process';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';

/**
 * With fewer tasks beforehand a fifth of the processor goes into compiling the roles' code, which differs from run to run more
 * than TLS costs. With fewer tasks the last of them is durable at about the time at which starts begin, or not.
 */
const { rounds, hosts, tasks, init, runs, only, what } = flagsOf({
  ...{ rounds: 2, hosts: 5_000, tasks: 10_000, init: 4_000, runs: 500, only: '', what: 'identity' },
});

/** The flag of `k8s-shape` that does without it. */
const OFF: Readonly<Record<string, string>> = { identity: '--plain', tickets: '--no-tickets' };
const off = OFF[what];
if (off === undefined) throw new Error(`--what ${what}: identity or tickets`);

const FIGURES = [
  { name: 'committed a second', pattern: / per_second=(\d+)/ },
  { name: 'running a second', pattern: / running_per_second=(\d+)/ },
  { name: 'CPU us a task until running', pattern: / cpu_us_each_until_running=(\d+)/ },
] as const;

/** Nothing is measured in a run that fails, as when a busy server cuts a submission: it is told, and tried again. */
const TRIES_MAX = 3;

/** @returns what the bench printed, which is printed here too */
function run(bench: string, args: readonly string[]): string {
  const file = builtFile(`bench/cell/${bench}.js`);
  for (let tried = 1; ; tried++) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' });
    if (status === 0) {
      process.stdout.write(stdout);
      return stdout;
    }
    const text = `${bench} ended with ${String(status)}: ${stderr}`;
    if (tried === TRIES_MAX) throw new Error(text);
    process.stdout.write(`${text}\n`);
  }
}

/** @returns the figures of one run */
function measureShape(more: readonly string[]): readonly number[] {
  const sizes = ['--hosts', String(hosts), '--tasks', String(tasks), '--init', String(init)];
  const printed = run('k8s-shape', [...sizes, ...more]);
  return FIGURES.map(({ pattern }) => Number(pattern.exec(printed)?.[1] ?? NaN));
}

function compareShape(without: string): void {
  const on: (readonly number[])[] = [];
  const off: (readonly number[])[] = [];
  for (let round = 0; round < rounds; round++)
    for (const isOff of [false, true, true, false])
      (isOff ? off : on).push(measureShape(isOff ? [without] : []));
  FIGURES.forEach(({ name }, at) => {
    const valuesOf = (all: readonly (readonly number[])[]): number[] =>
      all.map((figures) => figures[at] ?? NaN);
    const [values, others] = [valuesOf(on), valuesOf(off)];
    const ratios = values.map((value, turn) => value / (others[turn] ?? NaN));
    // Of neighbours: the machine's own speed changes more from turn to turn than what is measured.
    const ratio = percentile(ratios, 0.5);
    process.stdout.write(
      `secured k8s-shape what=${what} "${name}" on=${percentile(values, 0.5).toFixed(1)} off=${percentile(others, 0.5).toFixed(1)}` +
        ` ratio=${ratio.toFixed(2)} turns=${ratios.map((one) => one.toFixed(2)).join(',')}\n`,
    );
  });
}

if (only === '' || only === 'k8s-shape') compareShape(off);
if (what === 'identity' && (only === '' || only === 'oneoff'))
  run('oneoff', ['--beside-plain', '--runs', String(runs)]);
