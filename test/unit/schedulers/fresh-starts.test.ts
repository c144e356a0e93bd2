import { describe, expect, it } from 'vitest';
import { FreshStarts } from '../../../schedulers/fresh-starts.ts';
import type { Entry, OwnedJob } from '../../../schedulers/owned-job.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const job = {} as OwnedJob;
const entry = {} as Entry;

function world() {
  const clock = new ManualClock();
  const made = { clock, backlog: 0, started: 0 };
  const starts = new FreshStarts(
    clock,
    () => made.backlog,
    () => (made.started += 1),
  );
  return Object.assign(made, { starts });
}

describe('fresh starts', () => {
  it('go out at once while the scheduler keeps up', () => {
    const one = world();
    one.starts.add(job, entry);
    one.starts.add(job, entry);
    expect(one.started).toBe(2);
    expect(one.clock.pending).toBe(0);
  });

  it('wait while much is to be placed, and go out, in their order, when that is done', async () => {
    const one = world();
    one.backlog = 500;
    for (let i = 0; i < 3; i++) one.starts.add(job, entry);
    expect(one.started).toBe(0);
    one.backlog = 0;
    // Not at once: the next gust may be on its way.
    await one.clock.advance(100);
    expect(one.started).toBe(0);
    await one.clock.advance(500);
    expect(one.started).toBe(3);
    expect(one.starts.waiting).toBe(0);
    one.starts.add(job, entry);
    expect(one.started).toBe(4);
  });

  it('wait no longer than two seconds, though the scheduler is never idle', async () => {
    const one = world();
    one.backlog = 500;
    one.starts.add(job, entry);
    await one.clock.advance(1_000);
    expect(one.started).toBe(0);
    await one.clock.advance(1_500);
    expect(one.started).toBe(1);
    expect(one.starts.waiting).toBe(0);
  });

  it('are forgotten with the term', async () => {
    const one = world();
    one.backlog = 500;
    one.starts.add(job, entry);
    one.starts.close();
    await one.clock.advance(10_000);
    expect(one.started).toBe(0);
  });
});
