// `npm run mutants`: plants each bug of sim/mutants/planted/ in turn and lets the simulator's suite look for it.
//   npm run mutants -- [name ...] [--seeds N] [--seconds S] [--first SEED]
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { prepare } from './prepare.mjs';

const root = prepare();
let folder;
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
    first: { type: 'string', default: '1' },
  },
});
const { MUTANTS } = await import(pathToFileURL(join(root, 'dist', 'sim', 'mutants', 'mutants.js')).href);
const wanted = MUTANTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const unknown = positionals.filter((name) => !MUTANTS.some((mutant) => mutant.name === name));
if (unknown.length > 0) fail(`there is no mutant ${unknown.join(', ')}`);

folder = mkdtempSync(join(tmpdir(), 'moorage-mutants-'));
const startedMs = performance.now();
const missed = [];
try {
  // The unchanged sources first: what fails there is no mutant's doing.
  const clean = await hunt(null, Math.min(60, Number(values.seconds)), 40);
  if (clean.found.length > 0)
    say('unchanged', clean, `VIOLATED: ${clean.found[0].invariant} ${clean.found[0].detail}`);
  else say('unchanged', clean, 'holds');
  if (clean.found.length > 0) missed.push('unchanged');
  const queue = [...wanted];
  const work = async () => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift())
      report(mutant, await hunt(mutant));
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
process.stdout.write(
  `${wanted.length - missed.length} of ${wanted.length} mutants found in ${seconds} s${missed.length === 0 ? '' : `; missed: ${missed.join(', ')}`}\n`,
);
process.exit(missed.length === 0 ? 0 : 1);

function report(mutant, result) {
  const invariants = [...new Set(result.found.map(({ invariant }) => invariant))];
  if (invariants.length === 0) {
    missed.push(mutant.name);
    say(mutant.name, result, 'NOT FOUND');
    return;
  }
  const asMeant = invariants.some((invariant) => mutant.breaks.includes(invariant));
  const first = result.found.find(({ invariant }) => mutant.breaks.includes(invariant)) ?? result.found[0];
  say(
    mutant.name,
    result,
    `${asMeant ? '' : `not by ${mutant.breaks.join(' ')}, but `}${first.invariant}: ${first.detail}`,
  );
}

function say(name, { seeds, seconds: took }, what) {
  const times = `${String(seeds).padStart(5)} seeds ${String(took).padStart(6)} s`;
  process.stdout.write(`${name.padEnd(28)} ${times}  ${what}\n`);
}

/** Runs the suite in a process of its own, with the mutant's file in place of the built one. */
function hunt(mutant, secondsMax = Number(values.seconds), seedsMax = Number(values.seeds)) {
  const args = [];
  if (mutant !== null) args.push('--import', hookFor(mutant));
  const theme = mutant === null ? 'all' : mutant.theme;
  const limits = [values.first, String(seedsMax), String(secondsMax)];
  args.push(join(root, 'dist', 'sim', 'mutants', 'main.js'), theme, ...limits);
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let error = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (error += chunk));
  return new Promise((resolve) =>
    child.once('close', () => {
      const line = out.trim().split('\n').at(-1) ?? '';
      if (line.startsWith('{')) resolve(JSON.parse(line));
      // A bug may also end the process: that is seen too.
      else
        resolve({
          seeds: 0,
          seconds: 0,
          found: [{ invariant: 'broke', detail: error.trim().split('\n').at(-1) ?? '' }],
        });
    }),
  );
}

/** A module that makes Node load the changed files instead of the built ones. @returns its URL */
function hookFor({ name, also, ...edit }) {
  const edits = also === undefined ? [edit] : [edit, also];
  const changed = Object.fromEntries(edits.map((one, at) => [urlOf(one), changedFor(`${name}-${at}`, one)]));
  const loader = join(folder, `${name}.loader.mjs`);
  const hook = join(folder, `${name}.hook.mjs`);
  writeFileSync(
    loader,
    `import { readFile } from 'node:fs/promises';
const changed = new Map(Object.entries(${JSON.stringify(changed)}));
export async function load(url, context, next) {
  const path = changed.get(url);
  if (path === undefined) return next(url, context);
  return { format: 'module', source: await readFile(path, 'utf8'), shortCircuit: true };
}
`,
  );
  writeFileSync(
    hook,
    `import { register } from 'node:module';\nregister(${JSON.stringify(pathToFileURL(loader).href)});\n`,
  );
  return pathToFileURL(hook).href;
}

/** Of the built file. */
function urlOf({ file }) {
  return pathToFileURL(join(root, 'dist', file.replace(/\.ts$/, '.js'))).href;
}

/** @returns the path of what is loaded in the file's place */
function changedFor(name, { file, find, replace }) {
  const source = readFileSync(join(root, file), 'utf8');
  if (source.split(find).length !== 2) fail(`${name}: its text stands not once in ${file}`);
  const { outputText } = ts.transpileModule(
    source.replace(find, () => replace),
    {
      fileName: file,
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
        rewriteRelativeImportExtensions: true,
      },
    },
  );
  const changed = join(folder, `${name}.js`);
  writeFileSync(changed, outputText);
  return changed;
}

function fail(line) {
  // Nothing after this runs, not even what stands in a finally.
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  process.stderr.write(`mutants: ${line}\n`);
  process.exit(2);
}
