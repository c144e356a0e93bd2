// Compiles the shim into dist/host-agent/native. Plain Node, so that it runs right after a build. Without a C compiler the
// agent uses the slower shim in TypeScript, and this says so.
//
//   node build.mjs [TARGET] [--sanitize]    with the sanitizers for addresses and undefined behaviour, for tests
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const names = readdirSync(here).filter((name) => /\.([ch]|mjs)$/.test(name));
const sources = names.filter((name) => name.endsWith('.c')).map((name) => join(here, name));
const [target = join(here, '..', '..', 'dist', 'host-agent', 'native', 'moorage-shim')] = process.argv
  .slice(2)
  .filter((word) => !word.startsWith('--'));
const sanitize = process.argv.includes('--sanitize');
const FLAGS = ['-std=gnu11', '-Wall', '-Wextra', '-Werror'];
const SANITIZE = [
  '-O1',
  '-g',
  '-fno-omit-frame-pointer',
  '-fsanitize=address,undefined',
  '-fno-sanitize-recover=all',
];

const newestMs = Math.max(...names.map((name) => statSync(join(here, name)).mtimeMs));
if (!existsSync(target) || statSync(target).mtimeMs < newestMs) compile();

function compile() {
  mkdirSync(dirname(target), { recursive: true });
  // Renamed into place: running shims keep the file they were started from.
  const fresh = `${target}.${process.pid}`;
  // A static shim takes a tenth of the memory; not every system has the C library for it.
  const why = sanitize
    ? compileTo(fresh, SANITIZE)
    : compileTo(fresh, ['-O2', '-static']) && compileTo(fresh, ['-O2']);
  if (why === '') renameSync(fresh, target);
  else process.stderr.write(`${why}: tasks will run under the slower shim in TypeScript\n`);
}

/** @returns why it could not be done; empty when it was */
function compileTo(path, more) {
  const done = spawnSync('cc', [...FLAGS, ...more, '-o', path, ...sources], { encoding: 'utf8' });
  if (done.error?.code === 'ENOENT') return 'no C compiler (cc) here';
  return done.status === 0 ? '' : `the shim does not compile here:\n${done.stderr}`;
}
