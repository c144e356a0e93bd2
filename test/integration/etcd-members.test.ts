import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { PartOutcome } from '../../src/core/commit/plan.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { Revision } from '../../src/ports/cell-store.ts';
import { checkHistory } from '../../sim/checkers/check-history.ts';
import { hostCodec, ownerCodec } from '../../src/wire/records/records.ts';
import { audit, committerWorld, planOf, testAllocation, testHost } from '../support/commit-world.ts';

const MEMBERS = ['a', 'b', 'c'];
const SCHEDULERS = ['s1', 's2', 's3'];
const SEED = 20_261_121;
const PLANS = 40;
/** Below all ports that are given out. */
const NOBODY = 'http://127.0.0.1:1';
const keys = cellKeys('members');

let folder = '';
let members: EtcdProcess[] = [];
const stores: EtcdCellStore[] = [];

function newStore(): EtcdCellStore {
  const endpoints = members.map(({ clientUrl }) => clientUrl);
  return storeOf(endpoints);
}

/** Patient: an election under load takes longer than the call of a role may. */
function storeOf(endpoints: readonly string[]): EtcdCellStore {
  const options = { endpoints, clock: systemClock, log: silentLog, callTimeoutMs: 30_000 };
  const store = new EtcdCellStore(options);
  stores.push(store);
  return store;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-members-'));
  const { path: binary } = await findEtcd({ env: process.env });
  // All at once: no member is given the port of another one's peers.
  const ports = await freePorts(2 * MEMBERS.length);
  const peers = ports.slice(MEMBERS.length);
  const urls = peers.map((port) => `http://127.0.0.1:${String(port)}`);
  const cluster = MEMBERS.map((name, n) => `${name}=${urls[n] ?? ''}`).join(',');
  members = await Promise.all(
    MEMBERS.map((name, n) =>
      startEtcd({
        ...{ binary, dataFolder: join(folder, name), unsafeNoFsync: true, autoCompaction: 'off' },
        readyTimeoutMs: 120_000,
        ...(ports[n] === undefined ? {} : { clientPort: ports[n] }),
        member: { name, peerUrl: urls[n] ?? '', cluster },
        // Some machines run this beside everything else: a slow member is not a dead one.
        flags: ['--heartbeat-interval', '100', '--election-timeout', '2000'],
      }),
    ),
  );
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await Promise.all(members.map((member) => member.stop()));
  rmSync(folder, { recursive: true, force: true });
});

describe('an etcd of three members', () => {
  it('reads are answered while a member of the list is dead', async () => {
    const [first, second] = members;
    if (first === undefined || second === undefined) throw new Error('there are no members');
    const endpoints = [NOBODY, first.clientUrl, second.clientUrl];
    for (let client = 0; client < 8; client++) {
      const store = storeOf(endpoints);
      const key = `/alone/${String(client)}`;
      const writes = [{ kind: 'put', key, value: 'here' }] as const;
      await newStore().attempt({ compares: [], writes, readBack: [] });
      expect((await store.read([key])).entries.size).toBe(1);
      expect((await store.list('/alone/')).entries.size).toBe(client + 1);
      expect((await store.listMany(['/alone/', '/nothing/']))[0]?.entries.size).toBe(client + 1);
      expect(await store.oldestRevision()).toBeGreaterThan(0);
      const past: Revision[] = [];
      for await (const revision of store.history('/alone/', 1)) past.push(revision);
      expect(past).toHaveLength(client + 1);
    }
  });

  it(`I1 I3 I5 commits outlive the leader that is killed among them, seed ${String(SEED)}`, async () => {
    const random = seededRandom(SEED);
    const hosts = new Map(
      Array.from({ length: 12 }, (_, n) => `h${String(n)}`).map((id) => [id, testHost(id)]),
    );
    const direct = newStore();
    const { revision: before } = await direct.read([]);
    for (const host of hosts.values())
      await direct.attempt({
        ...{ compares: [], readBack: [] },
        writes: [{ kind: 'put', key: keys.host(host.id), value: hostCodec.encode(host) }],
      });
    const ends = new Map<string, PartOutcome>();
    let landed = 0;
    const kills: Promise<EtcdProcess>[] = [];
    const work = SCHEDULERS.map(async (scheduler) => {
      const store = newStore();
      const world = committerWorld({ store, keys, hosts, clock: systemClock, random });
      const owner = ownerCodec.encode({ scheduler, kind: 'batch', sinceMs: 0 });
      const key = keys.owner('default', scheduler);
      const reply = await store.attempt({
        ...{ compares: [], readBack: [] },
        writes: [{ kind: 'put', key, value: owner }],
      });
      if (reply.outcome !== 'applied') throw new Error('the owner key was not written');
      world.owned.set(`default/${scheduler}`, reply.revision);
      for (let n = 0; n < PLANS; n++) {
        const places = Array.from({ length: 1 + random.below(3) }, (_, at) =>
          testAllocation(`${scheduler}-${String(n)}-${String(at)}`, `h${String(random.below(hosts.size))}`, {
            ...{ job: scheduler, scheduler, planId: `${scheduler}-${String(n)}` },
            ...{ index: n * 4 + at },
            resources: { cpuMilli: 20, memoryMib: 20, diskMib: 0, scalars: {} },
          }),
        );
        const outcome = await world.committer.commit(planOf(`${scheduler}-${String(n)}`, { places }));
        for (const { id } of places) ends.set(id, outcome.get(id)!);
        landed += 1;
        if (landed === PLANS) kills.push(killLeader());
      }
      return world.committer.stats;
    });
    await Promise.all(work);
    const [gone] = await Promise.all(kills);
    expect(gone).toBeDefined();
    // The dead member is in its list, as it is in an operator's.
    const reader = newStore();
    const history: Revision[] = [];
    for await (const revision of reader.history(keys.root, before + 1)) history.push(revision);
    const found = audit(history, keys, hosts);
    expect(found.faults).toEqual([]);
    // What was told to be there is there, at the revision that was told; what was told to have failed never was.
    for (const [id, end] of ends)
      expect(found.created.get(id)).toBe(end.kind === 'conflicted' ? undefined : end.revision);
    expect(found.created.size).toBeGreaterThan(PLANS * SCHEDULERS.length);
    const report = await checkHistory(reader, keys, []);
    expect(report.violations).toEqual([]);
    expect(report).toMatchObject({ verdict: 'holds', allocations: found.created.size });
  });
});

/** During an election nobody leads: whoever is asked for long enough does. */
async function killLeader(): Promise<EtcdProcess> {
  for (;;)
    for (const member of members) {
      const client = new Etcd3({ hosts: member.clientUrl });
      try {
        const { leader, header } = await client.maintenance.status();
        if (leader !== header.member_id) continue;
      } finally {
        client.close();
      }
      process.kill(member.pid, 'SIGKILL');
      await member.ended;
      return member;
    }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            resolve(typeof address === 'object' && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
