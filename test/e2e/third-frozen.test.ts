import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type {
  AllocationStatus,
  CellEvent,
  HostListAnswer,
  JobStatus,
} from '../../src/wire/api/monitor-api.ts';
import type { CliProcess, DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, pidIn, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { runningOn, startEagerMonitor } from '../support/eager-monitor.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const HOSTS = 12;
const FROZEN = 4;
/** Of a dozen hosts that vanish together one is declared lost in ten seconds; the clocks of two looks may differ a little. */
const PACE_MS = 9_000;
/** What nothing else on this machine runs. */
const MOVES = ['sleep', '86531'];
let cell: DevCellProcess;
let monitor: CliProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const answer = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await moorage(...args, '-o', 'json')).stdout) as T;
const statusOf = (job: string): Promise<JobStatus> => answer<JobStatus>('status', job);

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    ...['--hosts', String(HOSTS), '--schedulers', 'service'],
  ]);
  // It gives its verdicts earlier than the one of the cell, at the same pace. Sessions of hosts that freeze together end up to a
  // third of their TTL apart, and later on a busy machine: until then nobody is declared lost.
  monitor = await startEagerMonitor(cell, ['--lost-after', '10s', '--mass-loss-wait', '10s']);
  await monitor.says('"ready"');
});
afterAll(async () => {
  monitor.kill('SIGTERM');
  await monitor.end;
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

async function submit(name: string, command: readonly string[], more: object): Promise<JobStatus> {
  const file = join(folder.path, `${name}.yaml`);
  const job = { name, type: 'service', count: HOSTS, command, spread: [{ by: 'host' }], ...more };
  writeFileSync(file, JSON.stringify({ ...job, resources: { cpu: '50m', memory: '16Mi' } }));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
  const status = await until(
    () => statusOf(name),
    (found) => runningOn(found).length === HOSTS,
  );
  expect(new Set(runningOn(status)).size).toBe(HOSTS);
  return status;
}

interface Instance {
  readonly host: string;
  readonly pid: number | undefined;
  readonly restarts: number | undefined;
}

/** Which process each allocation is. */
function instancesOf({ allocations }: JobStatus, job: string): ReadonlyMap<string, Instance> {
  const instanceOf = ({ allocation, report }: AllocationStatus): Instance => ({
    ...{ host: allocation.host, pid: report?.tasks[job]?.pid, restarts: report?.restarts },
  });
  return new Map(allocations.map((one) => [one.allocation.id, instanceOf(one)]));
}

function livingMoves(): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `${MOVES.join('\0')}\0`;
    } catch {
      return false;
    }
  }).length;
}

async function lostEvents(): Promise<readonly CellEvent[]> {
  const { stdout } = await moorage('events', '--since', '0', '--kind', 'host-lost', '-o', 'json');
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CellEvent);
}

const isReady = ({ hosts }: HostListAnswer): boolean =>
  hosts.every(({ eligibility, alive }) => alive && (eligibility?.state ?? 'ready') === 'ready');

it('I18 S0.11 S0.12 S3.29 a third of twelve hosts freezes: they are replaced one after the other, and those that thaw keep what nobody replaced', async () => {
  const moves = instancesOf(await submit('moves', MOVES, { reschedule: { onHostLost: true } }), 'moves');
  const stays = instancesOf(await submit('stays', ['sleep', '1000'], {}), 'stays');
  const frozen = Array.from({ length: FROZEN }, (_, at) => `host-${String(2 + 3 * at)}`);
  for (const host of frozen) process.kill(pidIn(cell, host), 'SIGSTOP');
  try {
    await until(
      async () => (await moorage('why', 'moves')).stdout,
      (text) => text.includes(`${String(FROZEN)} hosts vanished together`),
    );
    await until(lostEvents, ({ length }) => length >= 2);
    // What was declared lost is replaced, though the others are not back.
    await until(livingMoves, (living) => living >= HOSTS + 2);
    expect(livingMoves()).toBeLessThanOrEqual(HOSTS + FROZEN);
  } finally {
    for (const host of frozen) process.kill(pidIn(cell, host), 'SIGCONT');
  }
  await until(() => answer<HostListAnswer>('hosts'), isReady);
  await until(livingMoves, (living) => living === HOSTS);
  const events = await lostEvents();
  const lost = events.map(({ host }) => host);
  for (const host of lost) expect(frozen).toContain(host);
  const times = events.map(({ atMs }) => atMs).sort((a, b) => a - b);
  for (const [at, timeMs] of times.slice(1).entries())
    expect(timeMs - (times[at] ?? 0)).toBeGreaterThanOrEqual(PACE_MS);

  const after = await until(
    () => statusOf('moves'),
    (found) => found.allocations.length === HOSTS && runningOn(found).length === HOSTS,
  );
  const now = instancesOf(after, 'moves');
  for (const [id, instance] of moves)
    expect(now.get(id)).toEqual(lost.includes(instance.host) ? undefined : instance);
  // Its policy moves nothing: it ran all the time, and still does.
  expect(instancesOf(await statusOf('stays'), 'stays')).toEqual(stays);
  expect((await moorage('check')).stdout).toContain('no violation of');
});
