// Compiles the shim into dist/host-agent/native. Plain Node, so that it runs right after a build. Without a C compiler the
// agent uses the slower shim in TypeScript, and this says so.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, 'shim.c');
const target = process.argv[2] ?? join(here, '..', '..', 'dist', 'host-agent', 'native', 'moorage-shim');
const FLAGS = ['-Wall', '-Wextra', '-Werror', '-O2', '-static'];

if (!existsSync(target) || statSync(target).mtimeMs < statSync(source).mtimeMs) compile();

function compile() {
  mkdirSync(dirname(target), { recursive: true });
  // Renamed into place: running shims keep the file they were started from.
  const fresh = `${target}.${process.pid}`;
  const done = spawnSync('cc', [...FLAGS, '-o', fresh, source], { encoding: 'utf8' });
  if (done.error?.code === 'ENOENT') {
    process.stderr.write('no C compiler (cc) here: tasks will run under the slower shim in TypeScript\n');
    return;
  }
  if (done.status !== 0) {
    process.stderr.write(`the shim does not compile:\n${done.stderr}`);
    process.exitCode = 1;
    return;
  }
  renameSync(fresh, target);
}
