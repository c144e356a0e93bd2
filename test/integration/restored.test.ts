import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { ANY_PORT, ProcessGroup } from '../../cli/local-cell/processes.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { JobSummary } from '../../src/wire/api/monitor-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { CLI, runCli, testFolder } from '../support/cli.ts';
import { describeNeeding, program } from '../support/needs.ts';
import { openFolder } from '../support/real-host.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const CELL = 'again';

describeNeeding(program('etcdctl'), 'a cell whose store is restored from a snapshot', () => {
  const folder = testFolder();
  const http = nodeClient();
  const roles = new ProcessGroup({ cliPath: CLI, logFolder: join(folder.path, 'logs') });
  let etcd: EtcdProcess | null = null;
  let proxy: TcpProxy | null = null;

  afterAll(async () => {
    await roles.stopAll();
    await http.close();
    await proxy?.close();
    await etcd?.stop();
    folder[Symbol.dispose]();
  });

  /** @returns where all stores of this test are found, one after the other: a port that is held while there is none */
  async function serveStore(dataFolder: string): Promise<string> {
    const { path: binary } = await findEtcd({ env: process.env });
    etcd = await startEtcd({ binary, dataFolder, unsafeNoFsync: true, autoCompaction: 'off' });
    proxy ??= await TcpProxy.to(etcd.clientUrl);
    proxy.targetPort = Number(new URL(etcd.clientUrl).port);
    return proxy.url;
  }

  it('I53 I54 loses no task, begins none twice, and leaves a history without a violation', async () => {
    const at = (name: string): string => join(folder.path, name);
    using open = openFolder();
    const openAt = (name: string): string => join(open.path, name);
    const url = await serveStore(at('etcd'));
    await makeKeyFiles(at('keys'));
    const start = (kind: string, id: string, ...more: string[]) =>
      roles.start(id, [kind, '--cell', CELL, '--etcd', url, '--id', id, '--listen', ANY_PORT, ...more], {
        keepUp: true,
      });
    const monitor = await start('monitor', 'monitor-1', '--history-kept', 'all');
    await start('arbiter', 'arbiter-1', '--keys', at('keys'));
    await start('scheduler', 'batch-1', '--kind', 'batch');
    for (const id of ['host-1', 'host-2'])
      await start('agent', id, '--data', at(id), '--keys', at('keys'), '--cpu', '2');
    const client = new MonitorClient(http, { urls: [monitor.ready.address], from: 'the test' });
    const until = async (name: string, holds: (job: JobSummary) => boolean): Promise<void> => {
      for (;;) {
        const { jobs } = await untilServed(() => client.jobs());
        const job = jobs.find((one) => one.name === name);
        if (job !== undefined && holds(job)) return;
        await pause(100);
      }
    };
    const begins = (name: string): readonly string[] =>
      existsSync(openAt(name)) ? readFileSync(openAt(name), 'utf8').trim().split('\n').sort() : [];
    const jobOf = (name: string, count: number, then: string) => ({
      ...{ name, type: 'batch', count, resources: { cpu: '100m', memory: '32Mi' } },
      command: ['sh', '-c', `umask 0; echo "$ALLOC_INDEX" >> '${openAt(name)}'; ${then}`],
    });
    const jobs = [
      jobOf('before', 2, 'exec sleep 1000'),
      jobOf('ended', 1, `until [ -e '${openAt('go')}' ]; do sleep 0.1; done`),
      jobOf('after', 2, 'exec sleep 1000'),
    ] as const;

    await client.submit(jobs[0]);
    await client.submit(jobs[1]);
    await until('before', ({ counts }) => counts.running === 2);
    await until('ended', ({ counts }) => counts.running === 1);
    const snapshot = at('snapshot.db');
    await etcdctl('--endpoints', url, 'snapshot', 'save', snapshot);
    // What the snapshot does not know: one has ended, and two more run.
    writeFileSync(openAt('go'), '');
    await until('ended', ({ phase }) => phase === 'complete');
    await client.submit(jobs[2]);
    await until('after', ({ counts }) => counts.running === 2);

    await etcd?.stop();
    const log = at('logs/batch-1.log');
    while (!readFileSync(log, 'utf8').includes('starting over from the store')) await pause(100);
    // Another cluster by its id, and older: whoever was connected begins anew, and tasks run on meanwhile.
    const token = ['--initial-cluster-token', `restored-${CELL}`];
    await etcdctl('snapshot', 'restore', snapshot, '--data-dir', at('restored/data'), ...token);
    await serveStore(at('restored'));
    const told = await runCli(['restored', '--etcd', url, '--cell', CELL], { cwd: folder.path });
    expect(told).toMatchObject({ code: 0 });
    for (const job of jobs) await untilServed(() => client.submit(job));
    await until('before', ({ counts }) => counts.running === 2);
    await until('after', ({ counts }) => counts.running === 2);
    await until('ended', ({ phase }) => phase === 'complete');

    for (const { name } of jobs) await client.stop({ namespace: 'default', job: name });
    for (const { name } of jobs) await until(name, ({ counts }) => counts.placed === 0);
    expect({ before: begins('before'), ended: begins('ended'), after: begins('after') }).toEqual({
      before: ['0', '1'],
      ended: ['0'],
      after: ['0', '1'],
    });
    const check = await runCli(['check', '--etcd', url, '--cell', CELL], { cwd: folder.path });
    expect(check.stdout).toMatch(/no violation of I1 I2 I3 I4 I6 I7 I8 I12 I13/);
    expect(check.code).toBe(0);
  });
});

/** While the monitor begins anew nobody answers, or it says that nothing was changed. */
async function untilServed<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isAway =
        error instanceof HttpError || (error instanceof ProblemError && error.problem.status === 503);
      if (!isAway) throw error;
    }
    await pause(100);
  }
}

function etcdctl(...args: readonly string[]): Promise<unknown> {
  return promisify(execFile)('etcdctl', args, { env: { ...process.env, ETCDCTL_API: '3' } });
}
