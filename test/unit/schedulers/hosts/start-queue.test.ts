import { describe, expect, it } from 'vitest';
import { StartQueue } from '../../../../schedulers/hosts/start-queue.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

function world() {
  const clock = new ManualClock();
  const made = { clock, backlog: 0, started: 0, order: [] as string[] };
  const starts = new StartQueue(clock, () => made.backlog, 64);
  const add = (namespace = 'default', over?: Promise<void>, host: string | null = null): void =>
    starts.add(namespace, host, () => {
      made.started += 1;
      made.order.push(namespace);
      return over;
    });
  return Object.assign(made, { starts, add });
}

describe('fresh starts', () => {
  it('go out at once while the scheduler keeps up', () => {
    const one = world();
    one.add();
    one.add();
    expect(one.started).toBe(2);
    expect(one.clock.pending).toBe(0);
  });

  it('wait while much is to be placed, and go out, in their order, when that is done', async () => {
    const one = world();
    one.backlog = 500;
    for (let i = 0; i < 3; i++) one.add();
    expect(one.started).toBe(0);
    one.backlog = 0;
    // Not at once: the next gust may be on its way.
    await one.clock.advance(100);
    expect(one.started).toBe(0);
    await one.clock.advance(500);
    expect(one.started).toBe(3);
    expect(one.starts.waiting).toBe(0);
    one.add();
    expect(one.started).toBe(4);
  });

  it('wait no longer than two seconds, though the scheduler is never idle', async () => {
    const one = world();
    one.backlog = 500;
    one.add();
    await one.clock.advance(1_000);
    expect(one.started).toBe(0);
    await one.clock.advance(1_500);
    expect(one.started).toBe(1);
    expect(one.starts.waiting).toBe(0);
  });

  it('go a few at a time while the scheduler stays busy, and leave it most of its time', async () => {
    const one = world();
    one.backlog = 500;
    for (let i = 0; i < 1_000; i++) one.add();
    await one.clock.advance(2_400);
    const early = one.started;
    expect(early).toBeGreaterThan(0);
    expect(early).toBeLessThan(1_000);
    one.backlog = 0;
    await one.clock.advance(1_000);
    expect(one.started).toBe(1_000);
  });

  it('go as fast as hosts answer while the scheduler stays busy, and past hosts that do not', async () => {
    const one = world();
    one.backlog = 500;
    const never = new Promise<void>(() => undefined);
    for (let i = 0; i < 1_000; i++) one.add('default', never);
    await one.clock.advance(2_050);
    const early = one.started;
    expect(early).toBeGreaterThan(0);
    // All are under way, until they count as late.
    await one.clock.advance(100);
    expect(one.started).toBe(early);
    await one.clock.advance(200);
    expect(one.started).toBe(2 * early);

    const other = world();
    other.backlog = 500;
    for (let i = 0; i < 1_000; i++) other.add('default', Promise.resolve());
    await other.clock.advance(2_350);
    expect(other.started).toBeGreaterThan(5 * early);
  });

  it('wait longer than that where more come than may go, and all go in their order', async () => {
    const one = world();
    one.backlog = 500;
    for (let n = 0; n < 40; n++) {
      for (let i = 0; i < 200; i++) one.add();
      await one.clock.advance(150);
    }
    expect(one.started).toBeGreaterThan(0);
    expect(one.started).toBeLessThan(200 * 25);
    expect(one.started + one.starts.waiting).toBe(200 * 40);
    one.backlog = 0;
    await one.clock.advance(1_000);
    expect(one.started).toBe(200 * 40);
  });

  it('are so few under way at once that their tickets do not expire, and go past hosts that do not answer', async () => {
    const one = world();
    const never = new Promise<void>(() => undefined);
    for (let i = 0; i < 10_000; i++) one.add('default', never);
    await one.clock.advance(1_000);
    const early = one.started;
    expect(early).toBeGreaterThan(1_000);
    expect(early).toBeLessThan(5_000);
    await one.clock.advance(2_000);
    expect(one.started).toBe(2 * early);

    const other = world();
    for (let i = 0; i < 10_000; i++) other.add('default', Promise.resolve());
    await other.clock.advance(1_000);
    expect(other.started).toBe(10_000);
  });

  it('go together when they are for one host, as many as a host is sent at once', async () => {
    const one = world();
    one.backlog = 500;
    const never = new Promise<void>(() => undefined);
    for (let i = 0; i < 40; i++) for (const host of ['h1', 'h2', 'h3']) one.add(host, never, host);
    await one.clock.advance(2_050);
    expect(one.order).toEqual(Array.from({ length: 16 }, () => 'h1'));
    one.backlog = 0;
    await one.clock.advance(1_000);
    const turns = one.order.filter((host, at) => host !== one.order[at - 1]);
    expect(turns).toEqual(['h1', 'h2', 'h3', 'h1', 'h2', 'h3', 'h1', 'h2', 'h3']);
    expect([one.started, one.starts.waiting]).toEqual([120, 0]);
  });

  it('S3.47 take turns by tenant', async () => {
    const one = world();
    one.backlog = 500;
    for (let i = 0; i < 100; i++) one.add('large');
    for (let i = 0; i < 3; i++) one.add('small');
    one.backlog = 0;
    await one.clock.advance(1_000);
    expect(one.order.slice(0, 7)).toEqual(['large', 'small', 'large', 'small', 'large', 'small', 'large']);
    expect(one.started).toBe(103);
  });

  it('are forgotten with the term', async () => {
    const one = world();
    one.backlog = 500;
    one.add();
    one.starts.close();
    await one.clock.advance(10_000);
    expect(one.started).toBe(0);
  });
});
