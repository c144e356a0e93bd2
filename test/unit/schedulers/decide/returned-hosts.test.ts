import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Group, ReturnPolicy } from '../../../../src/core/cell/job.ts';
import type { CellStore, Follower } from '../../../../src/ports/cell-store.ts';
import { allocationCodec } from '../../../../src/wire/records/records.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { makeGroup } from '../../core/placement/placement-fixtures.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

/** What changes of ledgers and eligibility is kept back, in order, until it is let go. */
class LateNews {
  #held: (() => void)[] | null = null;

  hold(): void {
    this.#held = [];
  }

  letGo(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const tell of held) tell();
  }

  readonly wrap = (store: CellStore): CellStore =>
    withCalls(store, {
      follow: (prefix, follower) =>
        store.follow(prefix, this.#isLate(prefix) ? this.#late(follower) : follower),
    });

  #isLate(prefix: string): boolean {
    return prefix === keys.ledgers || prefix === keys.eligibility;
  }

  #late(follower: Follower): Follower {
    return {
      onSnapshot: (snapshot) => follower.onSnapshot(snapshot),
      onChanges: (changes, revision) => {
        const tell = (): void => follower.onChanges(changes, revision);
        if (this.#held === null) tell();
        else this.#held.push(tell);
      },
    };
  }
}

const CPU_MILLI = 1_000;

describe('a lost host that is back, and whose return the owner has not heard of', () => {
  let world: CellWorld;
  let news: LateNews;
  beforeEach(() => {
    world = new CellWorld();
    news = new LateNews();
  });
  afterEach(() => world.close());

  const wanted = () => world.allocations().filter(({ desired }) => desired === 'run');

  /** One instance on h1, which is lost: nothing else has room for it, and it waits. */
  async function waitForRoom(onReturn?: ReturnPolicy): Promise<void> {
    await world.host('h1', CPU_MILLI);
    const { events } = await world.scheduler({ id: 's', kind: 'service' }, news.wrap);
    const reschedule = { ...makeGroup({}).reschedule, onHostLost: true, ...(onReturn && { onReturn }) };
    const group: Partial<Group> = { count: 1, reschedule };
    await world.submit(makeJob('web', { type: 'service' }, group, CPU_MILLI));
    await world.until(() => world.running().length === 1, 'web runs');
    const { address } = world.hosts.get('h1') ?? { address: '-' };
    world.fate = ({ url }) => (url.startsWith(address) ? 'refuse' : 'pass');
    await world.lose('h1');
    await world.until(() => events.some(({ kind }) => kind === 'parked'), 'it waits for room');
  }

  it('I12 I14 keeps the only allocation of its slot', async () => {
    await waitForRoom('oldest');
    news.hold();
    await world.regain('h1');
    await world.host('h2', CPU_MILLI);
    await world.clock.advance(3_000);
    expect(wanted()).toMatchObject([{ host: 'h1' }]);
    world.fate = () => 'pass';
    news.letGo();
    await world.clock.advance(10_000);
    expect(world.allocations()).toMatchObject([{ host: 'h1', desired: 'run' }]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('S0.14 keeps what runs in its slot when the one that it would keep has just been evicted', async () => {
    await waitForRoom('oldest');
    await world.host('h2', CPU_MILLI);
    await world.until(() => world.hostsOf('web').join() === 'h1,h2', 'the replacement');
    news.hold();
    await world.regain('h1');
    const [first] = wanted().filter(({ host }) => host === 'h1');
    if (first === undefined) throw new Error('nothing is set aside');
    const evicted = { ...first, desired: 'evict', cause: 'evicted by default/large' } as const;
    await world.put(keys.allocation('default', 'web', first.id), allocationCodec.encode(evicted));
    world.fate = () => 'pass';
    news.letGo();
    await world.clock.advance(3_000);
    expect(wanted()).toMatchObject([{ host: 'h2', attempt: 2 }]);
  });

  it('I14 ends what is to end there before another begins', async () => {
    await waitForRoom();
    news.hold();
    await world.regain('h1');
    await world.host('h2', CPU_MILLI);
    await world.clock.advance(3_000);
    expect(wanted()).toEqual([]);
    world.fate = () => 'pass';
    news.letGo();
    await world.until(() => world.hostsOf('web').length === 1 && wanted().length === 1, 'the next one');
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('I12 S0.1 is replaced while it is lost, whatever else is written of it', async () => {
    await waitForRoom('oldest');
    news.hold();
    await world.lose('h1', { labels: { zone: 'a' } });
    await world.host('h2', CPU_MILLI);
    await world.clock.advance(1_000);
    news.letGo();
    await world.until(() => wanted().length === 2, 'the replacement');
    expect(
      wanted()
        .map(({ host }) => host)
        .sort(),
    ).toEqual(['h1', 'h2']);
  });
});
