// Compiles the shim into dist/host-agent/native. Plain Node, so that it runs right after a build. Without a C compiler the
// agent uses the slower shim in TypeScript, and this says so.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, 'shim.c');
const target = process.argv[2] ?? join(here, '..', '..', 'dist', 'host-agent', 'native', 'moorage-shim');
const FLAGS = ['-Wall', '-Wextra', '-Werror', '-O2'];

if (!existsSync(target) || statSync(target).mtimeMs < statSync(source).mtimeMs) compile();

function compile() {
  mkdirSync(dirname(target), { recursive: true });
  // Renamed into place: running shims keep the file they were started from.
  const fresh = `${target}.${process.pid}`;
  // A static shim takes a tenth of the memory; not every system has the C library for it.
  const why = compileTo(fresh, ['-static']) && compileTo(fresh, []);
  if (why === '') renameSync(fresh, target);
  else process.stderr.write(`${why}: tasks will run under the slower shim in TypeScript\n`);
}

/** @returns why it could not be done; empty when it was */
function compileTo(path, more) {
  const done = spawnSync('cc', [...FLAGS, ...more, '-o', path, source], { encoding: 'utf8' });
  if (done.error?.code === 'ENOENT') return 'no C compiler (cc) here';
  return done.status === 0 ? '' : `the shim does not compile here:\n${done.stderr}`;
}
