import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../../src/core/random/random.ts';
import { failPoints } from '../../src/runtime/faults/names.ts';
import type { CliResult } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';

/**
 * `npm run sweep:processes -- [--points N] [--seconds S] [--seed SEED]`
 *
 * One real cell on this machine, at work, in which every scheduler, monitor and arbiter is killed at points at which it
 * changes something, one after another: the first armed point that it reaches and that nobody died at ends it, and it is
 * started again. (An agent's points are the crash matrix's.) All work must end as if nothing had happened, and the store's
 * history must hold all invariants. Prints how many points were met; ends with 1 when something is wrong.
 */
const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
});

/** What no work of this sweep leads to: the reaper's and operators' ways, things shared, and what only a closing role does. */
const ELSEWHERE = new RegExp(
  [
    '\\.close/|server\\.listen|attach|exec|pools|shared',
    '^monitor/(http\\.call|store\\.attempt/(allocs|ledger|outcomes|intents|eligibility))',
    '^monitor/server\\.route/(post\\.allocations|post\\.hosts|post\\.jobs\\.bulk)',
    '^scheduler/store\\.attempt/(intents|ledger|meta|outcomes)',
  ].join('|'),
);
const CHANGES =
  /\/(store\.(attempt|openSession)|http\.call\/(put|post|delete)|server\.route\/(put|post|delete)|signer\.)/;
const ROLES = ['scheduler', 'monitor', 'arbiter'] as const;

/** So many of each role's points, drawn from the seed. */
function drawnPoints(): readonly string[] {
  const random = seededRandom(Number(values.seed));
  return ROLES.flatMap((role) => {
    const all = failPoints().filter(
      (point) => point.startsWith(`${role}/`) && CHANGES.test(point) && !ELSEWHERE.test(point),
    );
    const chosen: string[] = [];
    while (chosen.length < Number(values.points) && all.length > 0)
      chosen.push(...all.splice(random.below(all.length), 1));
    return chosen;
  });
}

const points = drawnPoints();
const folder = testFolder();
const [armed, met] = [join(folder.path, 'armed'), join(folder.path, 'met')];
mkdirSync(met);
const cell = await startDevCell(folder.path, [], {
  MOORAGE_FAILPOINT: points.map((point) => `${point}:1:kill`).join(','),
  MOORAGE_FAILPOINT_FROM: armed,
  MOORAGE_FAILPOINT_ONCE: met,
});
/** Both monitors may be down at once for longer than the command line waits: then a person asks again. */
const UNREACHABLE = 4;
const TRIES_MAX = 5;
/** Longer than all deaths of one round can take; what has no answer by then has hung. */
const ANSWER_MS = 180_000;

async function moorage(...args: string[]): Promise<CliResult> {
  for (let tries = 1; ; tries++) {
    const result = await runCli(args, { cwd: folder.path, endMs: ANSWER_MS });
    if (result.code !== UNREACHABLE || tries >= TRIES_MAX) return result;
  }
}

const wrong: string[] = [];
const startMs = performance.now();
const untilMs = startMs + Number(values.seconds) * 1_000;

/** A run with an exit code of its own, a list, and a service that is changed and stopped again. */
async function round(number: number): Promise<void> {
  const code = number % 5;
  const list = jobFile(`list-${String(number)}`, 'batch', 'sleep 0.1');
  const service = `stays-${String(number)}`;
  const [once, done, up] = await Promise.all([
    moorage('run', '--', 'sh', '-c', `echo out; exit ${String(code)}`),
    moorage('run', list),
    inTurn(
      () => ['run', '--detach', jobFile(service, 'service', 'sleep 600')],
      () => ['run', '--detach', jobFile(service, 'service', 'sleep 601')],
      () => ['stop', service],
    ),
  ]);
  if (once.code !== code || once.stdout !== 'out\n')
    wrong.push(`round ${String(number)}: a run that exits with ${String(code)}: ${JSON.stringify(once)}`);
  if (done.code !== 0) wrong.push(`round ${String(number)}: a list: ${JSON.stringify(done)}`);
  if (up?.code !== 0) wrong.push(`round ${String(number)}: a service: ${JSON.stringify(up)}`);
}

/** @returns what the first one that failed answered, or else the last one */
async function inTurn(...commands: readonly (() => readonly string[])[]): Promise<CliResult | undefined> {
  let result: CliResult | undefined;
  for (const command of commands) {
    result = await moorage(...command());
    if (result.code !== 0) break;
  }
  return result;
}

function jobFile(name: string, type: string, script: string): string {
  const file = join(folder.path, `${name}.json`);
  const resources = { cpu: '50m', memory: '16Mi' };
  writeFileSync(file, JSON.stringify({ name, type, count: 4, script, resources }));
  return file;
}

writeFileSync(armed, '');
let rounds = 0;
while (performance.now() < untilMs && wrong.length === 0 && readdirSync(met).length < points.length)
  await round((rounds += 1));
const check = await moorage('check');
if (check.code !== 0) wrong.push(`moorage check: ${check.stdout}${check.stderr}`);
const ended = await cell.stop();
if (ended.code !== 0) wrong.push(`the cell ended with ${String(ended.code)}: ${ended.stderr}`);
const reached = new Set(readdirSync(met));
const missed = points.filter((point) => !reached.has(`${point}:1`.replaceAll('/', '_')));
folder[Symbol.dispose]();

for (const line of wrong) console.log(line);
if (missed.length > 0) console.log(`never reached: ${missed.join(', ')}`);
console.log(
  [
    `sweep:processes seed=${values.seed} points=${String(points.length)} kills=${String(points.length - missed.length)}`,
    `rounds=${String(rounds)} seconds=${((performance.now() - startMs) / 1000).toFixed(1)} failed=${String(wrong.length)}`,
  ].join(' '),
);
process.exitCode = wrong.length === 0 ? 0 : 1;
