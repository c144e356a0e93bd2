// `npm test`: prepares the checkout, says what the tests will start, runs them, and checks that nothing was left behind.
// Without names it runs a third of the tests that start processes, each day of the month another one: `MOORAGE_REAL=all` runs all.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PACKAGES } from './debian-packages.mjs';
import { prepare } from './prepare.mjs';

const root = prepare();
const { findEtcd } = await import(
  pathToFileURL(join(root, 'dist', 'src', 'adapters', 'etcd', 'server', 'find-etcd.js')).href
);
const etcd = await findEtcd({ env: process.env });
process.stdout.write(
  [
    'The tests start, on free ports of 127.0.0.1 and in folders of their own:',
    `  etcd            ${etcd.path}${etcd.version ? ` (${etcd.version})` : ''}, one for each test file that needs a store`,
    '  moorage roles   host-agents, schedulers, monitors and arbiters as separate processes',
    '  tasks           short shell commands under the host-agents',
    'All of them are stopped again; what is left behind fails the run.',
    '',
  ].join('\n'),
);
const mark = `MOORAGE_TEST_RUN=${randomUUID()}`;
const folder = mkdtempSync(join(tmpdir(), 'moorage-skipped-'));
const skipped = join(folder, 'list');
// A campaign that is named is run.
const campaigns = process.argv.slice(2).some((name) => name.includes('campaigns'))
  ? { MOORAGE_CAMPAIGNS: 'all' }
  : {};
const REAL_PARTS = 3;
const isWhole = process.argv.length === 2 && process.env.MOORAGE_REAL === undefined;
const today = isWhole ? { MOORAGE_REAL: `${new Date().getUTCDate() % REAL_PARTS}/${REAL_PARTS}` } : {};
if (isWhole)
  process.stdout.write(
    `Of the tests that start processes, part ${today.MOORAGE_REAL} of today; all of them: MOORAGE_REAL=all npm test\n\n`,
  );
const env = {
  ...process.env,
  ...campaigns,
  ...today,
  ...{ MOORAGE_ETCD: etcd.path, MOORAGE_TEST_RUN: mark.split('=')[1], MOORAGE_SKIPPED: skipped },
};
const done = spawnSync(
  process.execPath,
  [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit', env },
);
const left = leftProcesses();
for (const line of left) process.stderr.write(`left behind: ${line}\n`);
process.stdout.write(skippedLine());
rmSync(folder, { recursive: true, force: true });
process.exit(done.status !== 0 ? (done.status ?? 1) : left.length === 0 ? 0 : 1);

/** Processes that the tests started and that are still there: they carry a mark in their environment. */
function leftProcesses() {
  const found = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (Number(pid) === process.pid) continue;
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      if (!environment.includes(mark)) continue;
      found.push(`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`);
    } catch {
      // It has ended meanwhile, or belongs to another user.
    }
  }
  return found;
}

/** @returns one line: the tests that this machine cannot run, what they lack, and the command that gets it; empty when none */
function skippedLine() {
  if (!existsSync(skipped)) return '';
  const all = readFileSync(skipped, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const lacks = [...new Set(all.map(({ missing }) => missing))];
  const packages = Object.keys(PACKAGES)
    .filter(
      (program) => lacks.some((text) => text.includes(`program ${program} `)) || isCompiler(program, lacks),
    )
    .map((program) => PACKAGES[program]);
  const remedy = packages.length === 0 ? '' : `; apt-get install -y ${packages.join(' ')}`;
  return `skipped: ${[...new Set(all.map(({ name }) => name))].join(', ')} (${lacks.join(', ')})${remedy}\n`;
}

function isCompiler(program, lacks) {
  return program === 'cc' && lacks.some((text) => text.includes('no C compiler'));
}
