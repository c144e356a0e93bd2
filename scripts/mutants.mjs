// `npm run mutants`: plants each bug of sim/mutants/planted/ in turn and lets the simulator's suite look for it. Ends with 1 when one is
// missed: none of the invariants that it is meant to break is seen broken, or the run in which one is fails without it too; with 2
// when a process breaks down.
//   npm run mutants -- [name ...] [--seeds N] [--seconds S of the processor] [--first SEED] [--part N/M] [--record]
// `--part 0/2`: every second one, from the first.
// `sim/mutants/found-by.json` holds for each bug the seed of a run that found it: that run comes first, so that nearly every bug takes one run.
// A change of the sources may change what a seed does; then the search goes on from `--first`, and `--record` writes down what it found.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle } from './build.mjs';
import { prepare } from './prepare.mjs';

/** How many runs of the unchanged sources must hold first. */
const CLEAN_SEEDS = 40;
/** The program that runs worlds and says what is broken. */
const SUITE = 'sim/mutants/main';
const root = prepare();
let folder;
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
    first: { type: 'string', default: '1' },
    part: { type: 'string', default: '0/1' },
    record: { type: 'boolean', default: false },
  },
});
const { MUTANTS } = await import(pathToFileURL(join(root, 'dist', 'sim', 'mutants', 'mutants.js')).href);
const [part, parts] = values.part.split('/').map(Number);
const wanted = MUTANTS.filter(
  ({ name }, at) => at % parts === part && (positionals.length === 0 || positionals.includes(name)),
);
const unknown = positionals.filter((name) => !MUTANTS.some((mutant) => mutant.name === name));
if (unknown.length > 0) fail(`there is no mutant ${unknown.join(', ')}`);

const seedsFile = join(root, 'sim', 'mutants', 'found-by.json');
const seeds = JSON.parse(readFileSync(seedsFile, 'utf8'));
folder = mkdtempSync(join(tmpdir(), 'moorage-mutants-'));
const startedMs = performance.now();
const missed = [];
/** Children that did not come to their end: whether their bug is found is not known. */
const broken = [];
/** The run in which each was found. */
const foundIn = new Map();
try {
  await inParallel([holdsUnchanged, ...wanted.map((mutant) => () => judge(mutant))]);
  const runs = [...new Set([...foundIn.values()].map(({ theme, seed }) => `${theme}:${seed}`))];
  const half = Math.ceil(runs.length / 2);
  await inParallel([runs.slice(0, half), runs.slice(half)].map((part) => () => demandThatTheyHold(part)));
  if (values.record) record();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
const bad = [
  ...(missed.length === 0 ? [] : [`missed: ${missed.join(', ')}`]),
  ...(broken.length === 0 ? [] : [`broken: ${broken.join(', ')}`]),
];
process.stdout.write(
  `${[`${foundIn.size} of ${wanted.length} mutants found in ${seconds} s`, ...bad].join('; ')}\n`,
);
process.exit(broken.length > 0 ? 2 : missed.length > 0 ? 1 : 0);

/** On two cores at once. */
async function inParallel(jobs) {
  const queue = [...jobs];
  const work = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) await job();
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
}

/** What fails in the unchanged sources is no mutant's doing. */
async function holdsUnchanged() {
  const clean = await look('unchanged', { seeds: CLEAN_SEEDS, seconds: values.seconds });
  if (clean?.found !== null) missed.push('unchanged');
  else if (clean.seeds < CLEAN_SEEDS)
    missed.push(`unchanged (only ${clean.seeds} of ${CLEAN_SEEDS} runs in the time)`);
  if (clean !== null)
    say('unchanged', clean, clean.found === null ? 'holds' : `BROKEN ${wordsOf(clean.found)}`);
}

/** A bug is found when one of the invariants is broken that it is meant to break; whatever else it breaks on the way. */
async function judge(mutant) {
  const result = await look(mutant.name, {
    program: await planted(mutant),
    ...{ theme: mutant.theme, first: values.first, seeds: values.seeds, seconds: values.seconds },
    ...(seeds[mutant.name] === undefined ? {} : { known: seeds[mutant.name] }),
    wanted: mutant.breaks.join(','),
  });
  if (result === null) return;
  if (result.found === null) {
    missed.push(mutant.name);
    const instead =
      result.others.length === 0 ? '' : ` by ${mutant.breaks.join(' ')}, only by ${result.others.join(' ')}`;
    say(mutant.name, result, `NOT FOUND${instead}`);
    return;
  }
  foundIn.set(mutant.name, result.found);
  say(mutant.name, result, wordsOf(result.found));
}

/** What is broken in a run without the bug as well was not found through it. */
async function demandThatTheyHold(runs) {
  const open = new Set(runs);
  while (open.size > 0) {
    const result = await look('unchanged', { runs: [...open].join(','), seconds: values.seconds });
    if (result === null) return;
    if (result.found === null) {
      if (result.seeds < open.size)
        missed.push(`unchanged (only ${result.seeds} of ${open.size} runs in the time)`);
      say('unchanged', result, 'holds wherever a bug was found');
      return;
    }
    const { theme, seed } = result.found;
    say('unchanged', result, `BROKEN ${wordsOf(result.found)}`);
    for (const [name, found] of foundIn)
      if (found.theme === theme && found.seed === seed && foundIn.delete(name)) missed.push(name);
    open.delete(`${theme}:${seed}`);
  }
}

/** Of bugs that were not looked for, or not found, what was known stays. */
function record() {
  const names = MUTANTS.map(({ name }) => name);
  const lines = names.flatMap((name) => {
    const seed = foundIn.get(name)?.seed ?? seeds[name];
    return seed === undefined ? [] : [`  ${JSON.stringify(name)}: ${seed}`];
  });
  writeFileSync(seedsFile, `{\n${lines.join(',\n')}\n}\n`);
}

/** The command repeats the run, with the bug in the sources or without. */
function wordsOf({ theme, seed, invariant, detail }) {
  return `${invariant}: ${detail} (moorage sim replay ${seed} --theme ${theme})`;
}

function say(name, { seeds, seconds: took }, what) {
  const times = `${String(seeds).padStart(5)} seeds ${String(took).padStart(6)} s`;
  process.stdout.write(`${name.padEnd(28)} ${times}  ${what}\n`);
}

/**
 * Runs the suite in a process of its own.
 * @param name whose process it is
 * @param options of the suite; `program` stands in the place of the built one
 * @returns what it printed; null: it broke down, which is printed
 */
async function look(name, { program = join(root, 'dist', `${SUITE}.js`), ...options }) {
  const args = [
    program,
    ...Object.entries(options).flatMap(([option, value]) => [`--${option}`, String(value)]),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let error = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (error += chunk));
  const code = await new Promise((resolve) =>
    child.once('close', (status, signal) => resolve(status ?? signal)),
  );
  const line = out.trim().split('\n').at(-1) ?? '';
  if (code === 0 && line.startsWith('{')) return JSON.parse(line);
  broken.push(name);
  say(name, { seeds: 0, seconds: 0 }, `ERROR: its process ended with ${code}: ${lastErrorIn(error)}`);
  return null;
}

/** The line that says what was thrown; Node's own words come last. */
function lastErrorIn(text) {
  const lines = text.trim().split('\n');
  return lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1) ?? '';
}

/** The suite with the bug in its sources. @returns the path of its program */
async function planted({ name, also = [], ...edit }) {
  const dir = join(folder, name);
  const replaced = new Map();
  for (const { file, find, replace } of [edit, ...also]) {
    const source = replaced.get(file) ?? readFileSync(join(root, file), 'utf8');
    if (source.split(find).length !== 2) fail(`${name}: its text stands not once in ${file}`);
    replaced.set(
      file,
      source.replace(find, () => replace),
    );
  }
  await bundle({ entries: [SUITE], dir, chunks: 'chunks', replaced });
  return join(dir, `${SUITE}.js`);
}

function fail(line) {
  // Nothing after this runs, not even what stands in a finally.
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  process.stderr.write(`mutants: ${line}\n`);
  process.exit(2);
}
