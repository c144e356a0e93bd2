import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ANY_PORT, ProcessGroup } from '../../cli/local-cell/processes.ts';
import { divideOpenFiles } from '../../src/adapters/system/open-files.ts';
import { CLI, testFolder } from '../support/cli.ts';
import { useEtcd } from '../support/etcd.ts';

/** Fewer than the hosts: without a division the monitor has no file left for whoever calls it. */
const OPEN_FILES = 160;
const HOSTS = 200;
/** Callers at once; the connection on which the metrics were read may still be open beside theirs. */
const CALLERS = divideOpenFiles(OPEN_FILES).callersMax - 1;

const etcd = useEtcd();
const folder = testFolder();
const roles = new ProcessGroup({ cliPath: CLI, logFolder: join(folder.path, 'logs') });
let stopMonitor = (): Promise<unknown> => Promise.resolve();
let log = '';
let url = '';

beforeAll(async () => {
  const common = ['--cell', etcd.cellName(), '--etcd', etcd.url, '--listen', ANY_PORT];
  await roles.start('hollow-1', [
    ...['hollow', ...common, '--id', 'hollow-1', '--count', String(HOSTS), '--no-tickets'],
  ]);
  const limited = ['-c', `ulimit -n ${String(OPEN_FILES)} && exec "$@"`, 'sh', process.execPath, CLI];
  const monitor = spawn('sh', [...limited, 'monitor', ...common, '--id', 'monitor-1'], {
    env: { ...process.env, MOORAGE_STOP_WITH_PARENT: '1' },
  });
  const end = once(monitor, 'exit');
  stopMonitor = () => {
    monitor.kill('SIGTERM');
    return end;
  };
  monitor.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  for await (const line of createInterface({ input: monitor.stdout })) {
    url = (JSON.parse(line) as { address: string }).address;
    break;
  }
  monitor.stdout.resume();
});
afterAll(async () => {
  await stopMonitor();
  await roles.stopAll();
  folder[Symbol.dispose]();
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN);
}

it('a monitor with fewer open files than hosts follows what it can, answers its callers, and names the limit', async () => {
  const { hostsMax } = divideOpenFiles(OPEN_FILES);
  while ((await metric('moorage_monitor_unfollowed_hosts')) !== HOSTS - hostsMax) await sleep(50);
  expect(await metric('moorage_monitor_hosts_max')).toBe(hostsMax);
  const answers = await Promise.all(Array.from({ length: CALLERS }, () => fetch(`${url}/v1/hosts`)));
  for (const answer of answers) {
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as { hosts: unknown[] }).hosts).toHaveLength(HOSTS);
  }
  expect(log).toContain(`the limit of open files allows ${String(hostsMax)} hosts`);
});
