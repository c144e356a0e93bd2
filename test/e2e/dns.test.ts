import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = testFolder();
const NAME = 'http.web.shop.default.moorage';
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

beforeAll(async () => {
  cell = await startDevCell(folder.path, ['--hosts', '2', '--monitors', '2']);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

/** Of each host, as a task or a resolver on it would ask. */
async function resolvers(): Promise<readonly Resolver[]> {
  const { hosts } = JSON.parse((await moorage('hosts', '-o', 'json')).stdout) as HostListAnswer;
  return hosts.map(({ host: { attributes } }) => {
    const resolver = new Resolver({ timeout: 5_000, tries: 1 });
    resolver.setServers([attributes['dns'] ?? '']);
    return resolver;
  });
}

const portsOf = async (resolver: Resolver): Promise<readonly number[]> =>
  (await resolver.resolveSrv(NAME).catch(() => [])).map(({ port }) => port).sort();

/** Asks again and again; the test's own time limit ends it. */
async function untilPorts(
  all: readonly Resolver[],
  holds: (ports: readonly number[]) => boolean,
): Promise<void> {
  for (const resolver of all) while (!holds(await portsOf(resolver)));
}

const JOB = `
name: shop
type: service
groups:
  web:
    count: 2
    ports: { http: auto }
    tasks:
      server:
        command: [python3, -m, http.server, --bind, 127.0.0.1, '\${port.http}']
        checks: { web: { http: /, interval: 200ms } }
`;

/** Says its endpoints at its start, and again whenever it is told that the file is another one. */
const CLIENT = `
name: client
type: service
endpoints: [{ name: http.web.shop, env: SHOP, file: shop.txt, onChange: SIGHUP }]
script: |
  say() { echo "now $(tr '\\n' ' ' < shop.txt)"; }
  trap say HUP
  echo "begins with $SHOP"
  say
  while :; do sleep 0.1; done
`;

describe('DNS on every host', () => {
  it('S0.30 S0.42: tells who serves, forgets who does not at once, and goes on when monitors are killed', async () => {
    writeFileSync(join(folder.path, 'shop.yaml'), JOB);
    expect((await moorage('run', 'shop.yaml')).code).toBe(0);
    const all = await resolvers();
    const [one] = all;
    if (one === undefined) throw new Error('no host');
    await untilPorts(all, (ports) => ports.length === 2);
    expect(await one.resolve4(NAME, { ttl: true })).toEqual([{ address: '127.0.0.1', ttl: 1 }]);
    const [record] = await one.resolveSrv('_http._tcp.web.shop.default.moorage');
    expect(await one.resolve4(record?.name ?? '')).toEqual(['127.0.0.1']);
    await expect(one.resolve6(NAME)).rejects.toMatchObject({ code: 'ENODATA' });
    await expect(one.resolve4('db.web.shop.default.moorage')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(one.resolve4('example.org')).rejects.toMatchObject({ code: 'EREFUSED' });

    // One of two monitors dies: the answers go on, and so does what is new.
    process.kill(Number(/monitor-1 (\d+)/.exec(cell.output())?.[1]), 'SIGKILL');
    expect(await portsOf(one)).toHaveLength(2);
    const { allocations } = JSON.parse((await moorage('status', 'shop', '-o', 'json')).stdout) as JobStatus;
    const victim = allocations.find(({ allocation }) => allocation.desired === 'run');
    const gone = victim?.allocation.ports['http'] ?? 0;
    process.kill(victim?.report?.tasks['server']?.pid ?? 0, 'SIGKILL');
    await untilPorts(all, (ports) => !ports.includes(gone));
    await untilPorts(all, (ports) => ports.length === 2);

    expect((await moorage('stop', 'shop')).code).toBe(0);
    await untilPorts(all, (ports) => ports.length === 0);
    await expect(one.resolve4(NAME)).rejects.toMatchObject({ code: 'ENODATA' });
  });

  it('S0.30 S4.21: a task has the endpoints that it uses, and hears of others, also after its agent was killed', async () => {
    expect((await moorage('run', 'shop.yaml')).code).toBe(0);
    writeFileSync(join(folder.path, 'client.yaml'), CLIENT);
    const [one] = await resolvers();
    if (one === undefined) throw new Error('no host');
    await untilPorts([one], (ports) => ports.length === 2);
    expect((await moorage('run', 'client.yaml')).code).toBe(0);
    const said = async (): Promise<readonly string[]> =>
      (await moorage('logs', 'client')).stdout.trim().split('\n');
    const textOf = (ports: readonly number[], between: string): string =>
      ports.map((port) => `127.0.0.1:${String(port)}`).join(between);
    const sorted = (text = '', between: RegExp): readonly string[] =>
      text.split(between).filter(Boolean).sort();
    while ((await said()).length < 2);
    const before = textOf(await portsOf(one), ',')
      .split(',')
      .sort();
    const [begins, first] = await said();
    expect(sorted(begins?.replace('begins with ', ''), /,/)).toEqual(before);
    expect(sorted(first?.replace('now ', ''), / /)).toEqual(before);

    for (const host of ['host-1', 'host-2'])
      process.kill(Number(new RegExp(`${host} (\\d+)`).exec(cell.output())?.[1]), 'SIGKILL');
    expect((await moorage('restart', 'shop')).code).toBe(0);
    let last: readonly string[] = [];
    while (last.length !== 2 || last.some((endpoint) => before.includes(endpoint)))
      last = sorted((await said()).at(-1)?.replace('now ', ''), / /);
  });
});
