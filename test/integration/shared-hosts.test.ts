import { join } from 'node:path';
import { afterAll, beforeAll, it } from 'vitest';
import type { RunningProcess } from '../../cli/local-cell/processes.ts';
import { ANY_PORT, ProcessGroup } from '../../cli/local-cell/processes.ts';
import type { HostListAnswer } from '../../src/wire/api/monitor-api.ts';
import { CLI, testFolder } from '../support/cli.ts';
import { useEtcd } from '../support/etcd.ts';
import { until } from '../support/until.ts';

const HOSTS = 120;

const etcd = useEtcd();
const folder = testFolder();
const roles = new ProcessGroup({ cliPath: CLI, logFolder: join(folder.path, 'logs') });
const monitors: RunningProcess[] = [];

beforeAll(async () => {
  const common = ['--cell', etcd.cellName(), '--etcd', etcd.url, '--listen', ANY_PORT];
  await roles.start('hollow-1', [
    ...['hollow', ...common, '--id', 'hollow-1', '--count', String(HOSTS), '--no-tickets'],
  ]);
  for (const id of ['monitor-1', 'monitor-2'])
    monitors.push(await roles.start(id, ['monitor', ...common, '--id', id]));
});
afterAll(async () => {
  await roles.stopAll();
  folder[Symbol.dispose]();
});

/** How many hosts each of these hears of directly. */
function followed(of: readonly RunningProcess[]): Promise<readonly number[]> {
  return Promise.all(
    of.map(async ({ ready: { address } }) => {
      const text = await (await fetch(`${address}/metrics`)).text();
      return Number(/^moorage_monitor_followed_hosts (\d+)$/m.exec(text)?.[1] ?? NaN);
    }),
  );
}

async function reporting({ ready: { address } }: RunningProcess): Promise<number> {
  const { hosts } = (await (await fetch(`${address}/v1/hosts`)).json()) as HostListAnswer;
  return hosts.filter(({ staleSinceMs }) => staleSinceMs === null).length;
}

const areAll = (counts: readonly number[]): boolean =>
  counts.reduce((sum, count) => sum + count, 0) === HOSTS;

async function showAll(of: readonly RunningProcess[]): Promise<void> {
  for (const monitor of of)
    await until(
      () => reporting(monitor),
      (hosts) => hosts === HOSTS,
    );
}

it('S4.4 I51 two monitors share the hosts, each shows all of them, and one takes over what the other one followed', async () => {
  // The one that starts first follows all until it hears of the other.
  await until(
    () => followed(monitors),
    (shares) => areAll(shares) && shares.every((share) => share > HOSTS / 4),
  );
  await showAll(monitors);
  const [dead, ...left] = monitors;
  if (dead !== undefined) process.kill(dead.pid, 'SIGKILL');
  await until(() => followed(left), areAll);
  await showAll(left);
});
