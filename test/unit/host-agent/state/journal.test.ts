import { describe, expect, it } from 'vitest';
import { Journal } from '../../../../host-agent/state/journal.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import { DiskError } from '../../../../src/ports/disk.ts';
import { CELL_INCARNATION, someStart } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';

/** More lines than a journal keeps without being written anew. */
const MANY = 20_001;

/** A disk on which a rewrite of the journal can be held before its rename. */
class HeldDisk extends MemoryDisk {
  rewrites = 0;
  #hold: Promise<void> | null = null;
  #reached: () => void = () => undefined;

  /** @returns when the next rewrite is under way, and what lets it end */
  hold(): { reached: Promise<void>; release: () => void } {
    let release = (): void => undefined;
    this.#hold = new Promise((resolve) => (release = resolve));
    const reached = new Promise<void>((resolve) => (this.#reached = resolve));
    return { reached, release };
  }

  override async replace(path: string, text: string): Promise<void> {
    this.rewrites += 1;
    this.#reached();
    await this.#hold;
    this.#hold = null;
    await super.replace(path, text);
  }
}

function openOn(disk: HeldDisk): Promise<Journal> {
  return Journal.open({ ...new HostWorld().ports, disk });
}

async function barMany(journal: Journal, name: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, i) => journal.fence(`${name}-${String(i)}`)));
}

describe('journal', () => {
  it('I38 a line appended while a rewrite is under way survives reopening', async () => {
    const disk = new HeldDisk();
    const journal = await openOn(disk);
    const { reached, release } = disk.hold();
    // Little of it stays live, so that the late line causes no rewrite of its own, which would save it.
    const many = Promise.all(Array.from({ length: MANY }, () => journal.recordTime()));
    await reached;
    const epoch = { incarnation: CELL_INCARNATION, counter: 1 };
    const ticket = { jti: 'late', digest: 'digest', expiresMs: journal.nowMs() + 30_000 };
    const late = Promise.all([journal.recordStart(epoch, ticket), journal.fence('late')]);
    release();
    await Promise.all([many, late]);
    const again = await openOn(disk);
    expect(again.ticketUseOf('late')).toBe('digest');
    expect(again.isFenced('late')).toBe(true);
    expect(disk.rewrites).toBe(2);
    expect(again.isOld({ ...epoch, counter: 0 })).toBe(true);
  });

  it('is rewritten only when it has doubled, however much of it is live', async () => {
    const disk = new HeldDisk();
    const journal = await openOn(disk);
    await barMany(journal, 'first', MANY);
    expect(disk.rewrites).toBe(1);
    for (let i = 0; i < 500; i++) await journal.fence(`one-${String(i)}`);
    expect(disk.rewrites).toBe(1);
    await barMany(journal, 'second', MANY);
    expect(disk.rewrites).toBe(2);
    await barMany(journal, 'third', MANY);
    expect(disk.rewrites).toBe(2);
  });

  it('S3.5 forgets an id after a quarter of an hour, and not before, without being written anew', async () => {
    const world = new HostWorld();
    await world.clock.advance(1_000);
    const journal = await Journal.open(world.ports);
    await journal.fenceRefused('first', { code: 'no-fit', detail: 'cpu' });
    await world.clock.advance(450_000);
    await journal.fence('second');
    await journal.fence('third');
    await world.clock.advance(450_000);
    await journal.fence('second');
    expect(journal.refusalOf('first')).toEqual({ code: 'no-fit', detail: 'cpu' });
    await world.clock.advance(1);
    await journal.fence('fourth');
    expect(journal.isFenced('first')).toBe(false);
    await world.clock.advance(450_000);
    await journal.fence('fifth');
    expect(['second', 'third', 'fourth'].filter((id) => journal.isFenced(id))).toEqual(['second', 'fourth']);
  });

  it('I34 who is refused because it was refused before waits for the line of the first refusal, and fails with it', async () => {
    const disk = new HeldDisk();
    const journal = await openOn(disk);
    disk.failWrites(new DiskError('full', 'no space'));
    const why = { code: 'no-fit', detail: 'cpu' };
    const both = await Promise.allSettled([
      journal.fenceRefused('one', why),
      journal.fenceRefused('one', why),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(journal.refusalOf('one')).toEqual(why);
    disk.failWrites(null);
    await journal.fenceRefused('one', { code: 'disk-full', detail: 'later' });
    const again = await openOn(disk);
    expect(again.refusalOf('one')).toEqual(why);
    await again.fence('one');
    expect(again.refusalOf('one')).toBeUndefined();
    expect(again.isFenced('one')).toBe(true);
  });

  it('goes on after a write that failed', async () => {
    const disk = new HeldDisk();
    const journal = await openOn(disk);
    disk.failWrites(new DiskError('full', 'no space'));
    await expect(journal.fence('refused')).rejects.toThrow('no space');
    disk.failWrites(null);
    await journal.fence('kept');
    expect((await openOn(disk)).isFenced('kept')).toBe(true);
  });
});

/** A disk whose append writes a part of the text and then fails, as one that runs full does. */
class TearingDisk extends MemoryDisk {
  tearAfter: number | null = null;

  override async append(path: string, text: string): Promise<void> {
    if (this.tearAfter === null) return super.append(path, text);
    await super.append(path, text.slice(0, this.tearAfter));
    throw new DiskError('full', 'no space');
  }
}

describe('a journal on a disk that fails', () => {
  const epoch = (counter: number) => ({ incarnation: CELL_INCARNATION, counter });
  const openOnTearing = (disk: MemoryDisk): Promise<Journal> =>
    Journal.open({ ...new HostWorld().ports, disk });

  it('I32 a line that was torn does not glue to the next one, and is written again', async () => {
    for (const tearAfter of [0, 1, 20, 60, 10_000]) {
      const disk = new TearingDisk();
      const journal = await openOnTearing(disk);
      await journal.fence('before');
      disk.tearAfter = tearAfter;
      await expect(journal.fence('torn')).rejects.toThrow('no space');
      disk.tearAfter = null;
      await journal.fence('after');
      const again = await openOnTearing(disk);
      const known = ['before', 'torn', 'after'].filter((id) => again.isFenced(id));
      expect(known, `torn after ${String(tearAfter)}`).toEqual(['before', 'torn', 'after']);
    }
  });

  it('S2.3 who records an epoch second waits for the sync of the first, and fails with it', async () => {
    const disk = new TearingDisk();
    const journal = await openOnTearing(disk);
    disk.tearAfter = 5;
    const both = await Promise.allSettled([journal.recordEpoch(epoch(3)), journal.recordEpoch(epoch(3))]);
    expect(both.map((one) => one.status)).toEqual(['rejected', 'rejected']);
    await expect(journal.recordEpoch(epoch(3))).rejects.toThrow('no space');
    disk.tearAfter = null;
    await journal.recordEpoch(epoch(3));
    expect((await openOnTearing(disk)).isOld(epoch(2))).toBe(true);
  });

  it('I32 opens on a disk that takes nothing, with all that it holds', async () => {
    const disk = new MemoryDisk();
    const journal = await openOnTearing(disk);
    await journal.fence('kept');
    await disk.append('journal', '{"v":1,"kind":"barr');
    disk.failWrites(new DiskError('full', 'no space'));
    const full = await openOnTearing(disk);
    expect(full.isFenced('kept')).toBe(true);
    await expect(full.fence('late')).rejects.toThrow('no space');
    disk.failWrites(null);
    await full.fence('later');
    const again = await openOnTearing(disk);
    expect(['kept', 'late', 'later'].every((id) => again.isFenced(id))).toBe(true);
  });

  it('I32 what came when it held no more lines is durable with the first write of the whole file', async () => {
    const disk = new HeldDisk();
    const journal = await openOn(disk);
    disk.failWrites(new DiskError('io', 'broken'));
    await expect(journal.fence('first')).rejects.toThrow('broken');
    await expect(barMany(journal, 'many', 6_000)).rejects.toThrow('broken');
    await expect(journal.fence('last')).rejects.toThrow('broken');
    disk.failWrites(null);
    // The first write is an append; while the rewrite after it fails, nothing is acknowledged.
    const replace = disk.replace.bind(disk);
    disk.replace = () => Promise.reject(new DiskError('io', 'no rewrite'));
    await expect(journal.recordTime()).rejects.toThrow('no rewrite');
    await expect(journal.fenceRefused('last', { code: 'no-fit', detail: '' })).rejects.toThrow('no rewrite');
    disk.replace = replace;
    await journal.recordTime();
    const again = await openOn(disk);
    const ids = ['first', 'many-0', 'many-5999', 'last'];
    expect(ids.filter((id) => again.isFenced(id))).toEqual(ids);
  });

  it('S2.21 keeps the lines of a newer version for it', async () => {
    const disk = new MemoryDisk();
    const newer = '{"v":1,"kind":"from-tomorrow","what":1}';
    await disk.append('journal', `${newer}\n{"v":9,"kind":"time","atMs":5}\ngarbage\n`);
    await openOnTearing(disk);
    const text = (await disk.read('journal')) ?? '';
    expect(text).toContain(newer);
    expect(text).toContain('"v":9');
    expect(text).not.toContain('garbage');
    expect(await disk.read('quarantine/journal')).toBe('garbage\n');
  });
});

describe('removal', () => {
  it('of an id that is not known here bars it, also for the next agent', async () => {
    const world = new HostWorld();
    await world.open();
    const order = someStart();
    await world.agent.remove(order.allocation.id);
    await expect(world.agent.start(order)).rejects.toThrow(/stopped or removed/);
    await world.loseAgent();
    await world.open();
    await expect(world.agent.start(order)).rejects.toThrow(/stopped or removed/);
  });
});
