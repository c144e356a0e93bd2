import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attempt, AttemptReply, CellStore } from '../../../src/ports/cell-store.ts';
import { CellWorld, keys, makeJob } from './cell-world.ts';

/** A store that holds the creation of owner keys back until it is told to let them go. */
class SlowTakes {
  readonly held: (() => void)[] = [];
  sizes: number[] = [];
  open = false;

  readonly wrap = (store: CellStore): CellStore =>
    new Proxy(store, {
      get: (target, name) => {
        if (name === 'attempt') return (attempt: Attempt) => this.#attempt(target, attempt);
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });

  async #attempt(store: CellStore, attempt: Attempt): Promise<AttemptReply> {
    const isTake = attempt.writes.some(({ kind, key }) => kind === 'put' && key.startsWith(keys.owners));
    if (!isTake) return store.attempt(attempt);
    this.sizes.push(attempt.writes.length);
    if (!this.open) await new Promise<void>((resolve) => this.held.push(resolve));
    return store.attempt(attempt);
  }
}

describe('taking jobs', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  it('asks for many new jobs in several full transactions at once, and for none of them twice', async () => {
    const jobs = 1_000;
    const slow = new SlowTakes();
    await world.host('h1', 1_000_000);
    for (let i = 0; i < jobs; i++) await world.submit(makeJob(`job-${String(i)}`, {}, {}, 1));
    await world.scheduler({ id: 'batch-1' }, slow.wrap);
    await world.until(() => slow.held.length > 1, 'takes side by side');
    const full = world.store.limits.operationsMax;
    expect(slow.sizes.every((size) => size === full)).toBe(true);
    slow.open = true;
    for (const go of slow.held.splice(0)) go();
    await world.until(() => world.allocations().length === jobs, 'every job placed');
    expect(slow.sizes.reduce((sum, size) => sum + size, 0)).toBe(jobs);
    expect(world.ledgersAreTrue()).toBe(true);
  });
});
