// Brings a bare checkout to the point where it can run: packages, then the build. Plain Node, no packages, so that it
// works before anything is installed. Doing it again when nothing changed costs some milliseconds.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_FLOOR = [20, 19];
const LOCK_WAIT_MAX_MS = 180_000;
const SOURCE_ROOMS = ['src', 'schedulers', 'host-agent', 'monitor', 'arbiter', 'cli', 'page', 'sim', 'bench'];

/** Installs and builds what is missing or stale. `say` gets one line for each step that did something. */
export function prepare(say = (line) => process.stderr.write(`${line}\n`)) {
  checkNode();
  const unlock = lock();
  try {
    step(say, 'packages', packagesAreCurrent, install);
    step(say, 'build', buildIsCurrent, build);
  } finally {
    unlock();
  }
  return root;
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1])) return;
  fail(
    `Moorage needs Node ${NODE_FLOOR.join('.')} or later; this is ${process.versions.node}. Get one from nodejs.org.`,
  );
}

function step(say, name, isCurrent, act) {
  if (isCurrent()) return;
  const start = performance.now();
  act();
  say(`  ${name.padEnd(10)} ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

function packagesAreCurrent() {
  const stamp = join(root, 'node_modules', '.moorage-lock');
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash();
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

function install() {
  run(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    'install the packages',
  );
  writeFileSync(join(root, 'node_modules', '.moorage-lock'), lockHash());
}

function buildIsCurrent() {
  const stamp = join(root, 'dist', '.built');
  if (!existsSync(stamp)) return false;
  const builtMs = statSync(stamp).mtimeMs;
  const inputs = [...SOURCE_ROOMS, join('scripts', 'build.mjs'), 'package-lock.json'];
  return inputs.every((name) => newestMs(join(root, name)) < builtMs);
}

function newestMs(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce(
    (newest, name) => Math.max(newest, newestMs(join(path, name))),
    stat.mtimeMs,
  );
}

function build() {
  const started = new Date();
  run(process.execPath, [join('scripts', 'build.mjs')], 'build');
  const stamp = join(root, 'dist', '.built');
  writeFileSync(stamp, started.toISOString());
  // What was saved while the build ran is newer than the build.
  utimesSync(stamp, started, started);
}

function run(command, args, what) {
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  if (done.status === 0) return;
  const output = `${done.stdout ?? ''}${done.stderr ?? ''}${done.error?.message ?? ''}`.trim();
  fail(`could not ${what}: ${command} ${args.join(' ')}\n${output}`);
}

/** One preparation at a time in one checkout: two cells may be started side by side from nothing. */
function lock() {
  const path = join(root, '.moorage', 'prepare.lock');
  mkdirSync(dirname(path), { recursive: true });
  // Linked when it is complete: a lock that is seen without its pid would be taken for a dead one.
  const own = `${path}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  const deadline = Date.now() + LOCK_WAIT_MAX_MS;
  for (;;) {
    try {
      linkSync(own, path);
      rmSync(own, { force: true });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') fail(`cannot write ${path}: ${error.message}`);
    }
    if (!isAlive(readOwner(path))) rmSync(path, { force: true });
    else if (Date.now() > deadline)
      fail(`another preparation holds ${path}; remove the file if none is running`);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
}

function readOwner(path) {
  try {
    return Number(readFileSync(path, 'utf8')) || 0;
  } catch {
    return 0;
  }
}

function isAlive(pid) {
  try {
    if (pid > 0) process.kill(pid, 0);
    return pid > 0;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function fail(line) {
  process.stderr.write(`moorage: ${line}\n`);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) prepare();
