import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Group, Job } from '../../../../src/core/cell/job.ts';
import type { Attempt, CellStore } from '../../../../src/ports/cell-store.ts';
import { allocationCodec } from '../../../../src/wire/records/records.ts';
import { settle } from '../../../support/manual-clock.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

/** Holds the next commit back until the job's lists were read, and hands the lists out after the commit's reply. */
class LateLists {
  armed = false;
  reads = 0;
  #listed!: () => void;
  #committed!: () => void;
  readonly #isListed = new Promise<void>((resolve) => (this.#listed = resolve));
  readonly #isCommitted = new Promise<void>((resolve) => (this.#committed = resolve));

  readonly wrap = (store: CellStore): CellStore =>
    withCalls(store, {
      attempt: (attempt) => this.#attempt(store, attempt),
      listMany: (prefixes) => this.#listMany(store, prefixes),
    });

  async #attempt(store: CellStore, attempt: Attempt) {
    const isCommit = attempt.writes.some(({ kind, key }) => kind === 'put' && key.startsWith(keys.ledgers));
    if (!this.armed || !isCommit) return await store.attempt(attempt);
    await this.#isListed;
    const reply = await store.attempt(attempt);
    this.#committed();
    return reply;
  }

  async #listMany(store: CellStore, prefixes: readonly string[]) {
    const lists = await store.listMany(prefixes);
    if (!this.armed) return lists;
    this.reads += 1;
    this.#listed();
    await this.#isCommitted;
    await settle();
    return lists;
  }
}

describe('a job that is read while an own commit lands', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  it('I12 the lists of before do not make the scheduler forget what it placed, and fill the slots twice', async () => {
    await world.host('h1', 8_000);
    const late = new LateLists();
    await world.scheduler({ id: 'service-1', kind: 'service' }, late.wrap);
    const old = makeJob('old', { type: 'service' });
    const both: Job = { ...old, name: 'web', groups: { old: old.groups.old as Group } };
    await world.submit(both);
    await world.until(() => world.running().length === 1, 'the first version');

    // Somebody else rewrites the record, as one who evicts does: the mark for its stop will be refused, and the job is
    // read again in the same turn in which the new group is committed.
    const [first] = world.allocations();
    if (first === undefined) throw new Error('nothing was placed');
    await world.put(keys.allocation('default', 'web', first.id), allocationCodec.encode(first));
    late.armed = true;
    const api = makeJob('api', {}, { count: 2 }).groups.api as Group;
    await world.submit({ ...both, groups: { api } }, 2);
    const placed = () =>
      world.allocations().filter(({ group, desired }) => group === 'api' && desired === 'run');
    await world.until(() => placed().length >= 2, 'the second version');
    await world.clock.advance(20_000);
    expect(late.reads).toBeGreaterThan(0);
    expect(
      placed()
        .map(({ index }) => index)
        .sort(),
    ).toEqual([0, 1]);
    expect(world.ledgersAreTrue()).toBe(true);
  });
});
