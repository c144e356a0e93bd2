// `npm test`: prepares the checkout, says what the tests will start, runs them, and checks that nothing was left behind.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
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
    '  moorage roles   host-agents, schedulers, monitors and arbiters as separate processes (test/e2e)',
    '  tasks           short shell commands under the host-agents',
    'All of them are stopped again; what is left behind fails the run.',
    '',
  ].join('\n'),
);
const mark = `MOORAGE_TEST_RUN=${randomUUID()}`;
const env = { ...process.env, MOORAGE_ETCD: etcd.path, MOORAGE_TEST_RUN: mark.split('=')[1] };
const done = spawnSync(
  process.execPath,
  [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit', env },
);
const left = leftProcesses();
for (const line of left) process.stderr.write(`left behind: ${line}\n`);
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
      // It ended while we looked, or belongs to somebody else.
    }
  }
  return found;
}
