import { noop } from 'cockatiel';
import { Etcd3 } from 'etcd3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tryEachMember, Members } from '../../../../../src/adapters/etcd/client/members.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

const NAMES = ['a', 'b', 'c'];
const SILENT = '14 UNAVAILABLE: No connection established';
const FULL = '8 RESOURCE_EXHAUSTED: etcdserver: mvcc: database space exceeded';
/** So often a member that may be asked is asked at least once: each call picks one at random. */
const SURELY = 300;

/** The client as it picks members, with calls that go nowhere. */
class Picking extends Etcd3 {
  pick(call: (policy: unknown) => void): Promise<void> {
    return this.pool.withConnection('KV', ({ resource }) => {
      call(resource.faultHandling);
      return Promise.resolve();
    });
  }
}

let clock: ManualClock;
let client: Picking;
/** By member: the fault that it answers with. */
let faults: Map<string, string>;
let asked: string[];
let policies: unknown[];

beforeEach(() => {
  clock = new ManualClock();
  const members = new Members(() => clock.monotonicMs());
  faults = new Map();
  asked = [];
  policies = [];
  const host = () => {
    const member = members.add();
    policies.push(member);
    return member;
  };
  client = new Picking({
    hosts: NAMES.map(() => 'http://127.0.0.1:1'),
    faultHandling: { host, global: noop },
  });
});

afterEach(() => client.close());

const call = (): Promise<void> =>
  client.pick((policy) => {
    const name = NAMES[policies.indexOf(policy)] ?? '?';
    asked.push(name);
    const fault = faults.get(name);
    if (fault !== undefined) throw new Error(fault);
  });

/** @returns who was asked in so many calls, and how many of them failed */
async function calls(count = SURELY) {
  asked = [];
  let failed = 0;
  for (let n = 0; n < count; n++) await call().catch(() => (failed += 1));
  return { asked: [...new Set(asked)].sort(), times: asked.length, failed };
}

describe('a member of the cluster that is silent', () => {
  it('fails one call, and is passed over for five seconds', async () => {
    faults.set('b', SILENT);
    expect(await calls()).toEqual({ asked: NAMES, times: SURELY, failed: 1 });
    await clock.advance(4_999);
    expect(await calls()).toEqual({ asked: ['a', 'c'], times: SURELY, failed: 0 });
  });

  it('is asked again after that, and as the others are when it answers', async () => {
    faults.set('b', SILENT);
    await calls();
    await clock.advance(5_000);
    expect(await calls()).toEqual({ asked: NAMES, times: SURELY, failed: 1 });
    faults.clear();
    expect((await calls()).asked).toEqual(['a', 'c']);
    await clock.advance(5_000);
    expect(await calls()).toEqual({ asked: NAMES, times: SURELY, failed: 0 });
    expect(asked.filter((name) => name === 'b').length).toBeGreaterThan(1);
  });

  it('is asked all the same while no other answers', async () => {
    for (const name of NAMES) faults.set(name, SILENT);
    expect(await calls()).toEqual({ asked: NAMES, times: SURELY, failed: SURELY });
    await expect(call()).rejects.toThrow('No connection established');
    faults.delete('c');
    const { failed, asked: tried } = await calls();
    expect(tried).toContain('c');
    expect(failed).toBeLessThan(SURELY);
    // From its first answer on, it is asked alone.
    expect((await calls()).asked).toEqual(['c']);
  });

  it('is not one that answers with a fault', async () => {
    faults.set('b', FULL);
    const { asked: tried, times, failed } = await calls();
    expect([tried, times]).toEqual([NAMES, SURELY]);
    expect(failed).toBeGreaterThan(1);
  });
});

describe('a call that may be made twice', () => {
  it('is made again while there is a member that was not asked', async () => {
    faults.set('a', SILENT).set('b', SILENT);
    for (let n = 0; n < 50; n++) await tryEachMember(NAMES.length, call);
    faults.set('c', SILENT);
    await clock.advance(5_000);
    asked = [];
    await expect(tryEachMember(NAMES.length, call)).rejects.toMatchObject({ code: 'unavailable' });
    expect(asked).toHaveLength(NAMES.length);
    expect(new Set(asked).size).toBe(NAMES.length);
  });

  it('is made once more, also at the only member, when its connection ended', async () => {
    const dropped = new Error('14 UNAVAILABLE: Connection dropped');
    const failing = (faults: number): (() => Promise<string>) => {
      let times = 0;
      return async () => {
        times += 1;
        if (times <= faults) throw dropped;
        return 'answered';
      };
    };
    expect(await tryEachMember(1, failing(1))).toBe('answered');
    await expect(tryEachMember(1, failing(2))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await tryEachMember(2, failing(2))).toBe('answered');
  });

  it('is not made again when the answer was a fault', async () => {
    for (const name of NAMES) faults.set(name, FULL);
    await expect(tryEachMember(NAMES.length, call)).rejects.toMatchObject({ code: 'no-space' });
    expect(asked).toHaveLength(1);
  });
});
