import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { rulesText } from '../../host-agent/network/ruleset.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { roleCodec } from '../../src/wire/records/records.ts';
import { DriverWorld } from '../support/driver-world.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';

/** Where a provider would tell the machine's secrets: on the loopback device for the time of these tests. */
const METADATA = '169.254.169.254';

function nft(...args: readonly string[]): string {
  return spawnSync('nft', args, { encoding: 'utf8' }).stdout;
}

/** @returns why not; null when this machine has a packet filter that we may use */
function filter(): string | null {
  return spawnSync('nft', ['list', 'tables']).status === 0 ? null : 'its packet filter is not ours to use';
}

async function listen(host: string, port = 0): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((socket) => socket.end('reached\n'));
  await new Promise<void>((done) => server.listen(port, host, done));
  return { server, port: (server.address() as { port: number }).port };
}

/** Says `reached` or `refused` for each place, in order. */
function visitor(places: readonly (readonly [host: string, port: number])[], driver?: 'sandbox') {
  const script = places
    .map(
      ([host, port]) =>
        `timeout 3 bash -c "exec 3<>/dev/tcp/${host}/${String(port)} && head -1 <&3" 2>/dev/null || echo refused`,
    )
    .join('\n');
  const more = driver === undefined ? {} : { driver, network: 'host' as const };
  return someStart({ tasks: [someTask({ command: ['bash', '-c', script], ...more })] });
}

describeNeeding(
  firstMissing(root(), program('cc'), program('nft'), program('ip'), program('bwrap'), filter()),
  'the network of strangers',
  () => {
    const world = new DriverWorld();
    const servers: Server[] = [];
    let [rolePort, freePort, metadataPort] = [0, 0, 0];
    const stateId = (): string =>
      (JSON.parse(readFileSync(join(world.folder.path, 'state/identity'), 'utf8')) as { stateId: string })
        .stateId;

    beforeAll(async () => {
      spawnSync('ip', ['address', 'add', `${METADATA}/32`, 'dev', 'lo']);
      const found = [await listen('127.0.0.1'), await listen('127.0.0.1'), await listen(METADATA)];
      servers.push(...found.map(({ server }) => server));
      [rolePort, freePort, metadataPort] = found.map(({ port }) => port) as [number, number, number];
      await world.open({ stopTasksOnExit: false });
    });
    afterAll(async () => {
      for (const server of servers) server.close();
      spawnSync('ip', ['address', 'delete', `${METADATA}/32`, 'dev', 'lo']);
      await world.close();
      expect(nft('list', 'tables')).not.toContain(stateIdBefore);
    });
    let stateIdBefore = '';
    afterEach(() => {
      stateIdBefore = stateId();
    });

    it('I68 a task does not reach roles, the agent and the machine’s secrets, and reaches the rest', async () => {
      expect((await world.host()).attributes['isolation.network']).toBe('filtered');
      const agentPort = Number(new URL(world.agent.address).port);
      const places = [
        ['127.0.0.1', rolePort],
        ['127.0.0.1', freePort],
        ['127.0.0.1', agentPort],
        [METADATA, metadataPort],
      ] as const;
      // Before the role has registered nobody knows that it is one.
      expect((await world.run(visitor(places))).output).toBe('reached\nreached\nrefused\nrefused\n');
      const store = world.store();
      const role = { kind: 'arbiter', id: 'a-1', version: 'test', policy: '', startedAtMs: 1 } as const;
      const value = roleCodec.encode({ ...role, address: `http://127.0.0.1:${String(rolePort)}` });
      const key = cellKeys('test').role('arbiter', 'a-1');
      await store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
      while (!nft('list', 'table', 'inet', `moorage_${stateId()}`).includes(String(rolePort)))
        await new Promise((next) => setTimeout(next, 20));
      expect((await world.run(visitor(places))).output).toBe('refused\nreached\nrefused\nrefused\n');
      expect((await world.run(visitor(places, 'sandbox'))).output).toBe(
        'refused\nreached\nrefused\nrefused\n',
      );
      // Root, who is no task, reaches them all.
      const own = connect(rolePort, '127.0.0.1');
      expect(await text(own)).toBe('reached\n');
      await store.close();
    });

    it('I68 the rules stay for as long as a task runs, over a change of agents, and go with the last', async () => {
      const id = await world.start(
        someStart({ tasks: [someTask({ command: ['sh', '-c', 'echo up; exec sleep 1000'] })] }),
      );
      await world.said(id, 'up');
      await world.agent.stop();
      expect(nft('list', 'tables')).toContain(`moorage_${stateId()}`);
      await world.open({ stopTasksOnExit: false });
      await world.stop(id);
      await world.agent.stop();
      expect(nft('list', 'tables')).not.toContain(`moorage_${stateId()}`);
      await world.open({ stopTasksOnExit: false });
    });

    it('I68 rules of a state folder that is gone are removed by whoever starts next; those of one that is there stay', async () => {
      const there = mkdtempSync(join(tmpdir(), 'moorage-rules-'));
      const users = [{ first: 1_900_000_000, count: 1 }];
      nft(rulesText('moorage_testgone', `${there}/gone`, users));
      nft(rulesText('moorage_testthere', there, users));
      try {
        await world.agent.stop();
        await world.open({ stopTasksOnExit: false });
        const left = nft('list', 'tables');
        expect(left).not.toContain('moorage_testgone');
        expect(left).toContain('moorage_testthere');
      } finally {
        nft('delete table inet moorage_testthere');
        rmSync(there, { recursive: true });
      }
    });
  },
);
