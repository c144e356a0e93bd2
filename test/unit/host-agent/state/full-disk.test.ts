import { describe, expect, it } from 'vitest';
import { RESERVE_BYTES, StateDisk } from '../../../../host-agent/state/state-disk.ts';
import type { HostAgent } from '../../../../host-agent/agent.ts';
import { HollowProcesses } from '../../../../src/adapters/memory/processes.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import type { DiskErrorCode } from '../../../../src/ports/disk.ts';
import { DiskError } from '../../../../src/ports/disk.ts';
import { someStart, someStop, someTask } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';

const STUBBORN = someTask({
  env: { HOLLOW_IGNORES_SIGNALS: '1' },
  stop: { signal: 'SIGTERM', graceMs: 200 },
});

/** A disk of a size: what does not fit is refused, as a real one refuses it. */
class SmallDisk extends MemoryDisk {
  #left: number;

  constructor(bytes: number) {
    super();
    this.#left = bytes;
  }

  override async freeBytes(): Promise<number> {
    return Math.max(0, this.#left);
  }

  grow(bytes: number): void {
    this.#left += bytes;
  }

  override async publish(path: string, text: string): Promise<'published' | 'exists'> {
    const done = await this.#take(text.length, () => super.publish(path, text));
    if (done === 'exists') this.#left += text.length;
    return done;
  }

  override async append(path: string, text: string): Promise<void> {
    await this.#take(text.length, () => super.append(path, text));
  }

  override async replace(path: string, text: string): Promise<void> {
    const before = (await this.sizeOf(path)) ?? 0;
    await this.#take(text.length, () => super.replace(path, text));
    this.#left += before;
  }

  override async remove(path: string): Promise<void> {
    this.#left += (await this.sizeOf(path)) ?? 0;
    await super.remove(path);
  }

  async #take<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    if (bytes > this.#left) throw new DiskError('full', 'no space left');
    this.#left -= bytes;
    return write();
  }
}

class SmallWorld extends HostWorld {
  override readonly disk = new SmallDisk(16 * 1024 * 1024);
  override processes = new HollowProcesses({ disk: this.disk, clock: this.clock });

  openSmall(): Promise<HostAgent> {
    return this.open(undefined, { freeBytesMin: 64 * 1024 });
  }
}

describe('the disk of a state folder', () => {
  it('I32 gives up its reserve for a durable write, and lays it down again when there is room', async () => {
    const small = new SmallDisk(RESERVE_BYTES * 6);
    const disk = new StateDisk(small);
    await disk.look();
    expect(disk.reserved).toBe(true);
    await small.append('output', 'x'.repeat(await small.freeBytes()));
    expect(await disk.publish('word', 'kept')).toBe('published');
    expect(await disk.read('word')).toBe('kept');
    expect([disk.fault, disk.reserved]).toEqual(['full', false]);
    await small.append('output', 'x'.repeat(await small.freeBytes()));
    await expect(disk.publish('other', 'lost')).rejects.toThrow('no space left');
    await disk.look();
    expect([disk.fault, disk.reserved]).toEqual(['full', false]);
    await small.remove('output');
    await disk.look();
    expect([disk.fault, disk.reserved]).toEqual([null, true]);
  });

  it('takes no more than its share of a small disk', async () => {
    const disk = new StateDisk(new SmallDisk(RESERVE_BYTES * 2));
    await disk.look();
    expect([disk.fault, disk.reserved]).toEqual([null, false]);
  });
});

describe('a host whose disk takes no writes', () => {
  const faults: readonly DiskErrorCode[] = ['full', 'read-only', 'io'];

  it.each(faults)('I32 carries out a stop that it cannot record, and records it later: %s', async (code) => {
    const world = new HostWorld();
    await world.open();
    const order = someStart({ tasks: [STUBBORN] });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, (report) => report.state === 'running');
    world.disk.failWrites(new DiskError(code, 'no'));
    const stop = someStop({ cause: 'enough' });
    await expect(world.agent.stop(id, stop)).rejects.toMatchObject({
      problem: { status: 507, code: 'disk-full' },
    });
    expect(world.processes.signalsOf(`${id}.main.1`)).toEqual(['SIGTERM']);
    expect(world.agent.report(id)).toMatchObject({ state: 'stopping', reason: 'enough' });
    await world.clock.advance(1_000);
    // The task's own end cannot be written either: nothing is said of it until it is.
    expect(world.agent.report(id)).toMatchObject({ state: 'stopping', released: false });
    await expect(world.agent.stop(id, stop)).rejects.toMatchObject({ problem: { status: 507 } });
    world.disk.failWrites(null);
    expect(await world.agent.stop(id, stop)).toMatchObject({ reason: 'enough' });
    const ended = await world.until(id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'killed', reason: 'enough' });
    await world.loseAgent();
    await world.open();
    expect(world.agent.report(id)).toMatchObject({ state: 'killed', reason: 'enough', released: true });
  });

  it('I32 takes over what runs though the disk is full, and starts nothing', async () => {
    const world = new SmallWorld();
    await world.openSmall();
    const order = someStart();
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, (report) => report.state === 'running');
    await world.loseAgent();
    await world.disk.append('output', 'x'.repeat(await world.disk.freeBytes()));
    await world.openSmall();
    expect(world.agent.report(id).state).toBe('running');
    await expect(world.agent.start(someStart())).rejects.toMatchObject({ problem: { status: 507 } });
    // The reserve was given up for the start of the agent, and is enough for the end of the task.
    expect(await world.agent.stop(id, someStop({ cause: 'enough' }))).toMatchObject({ id });
    expect(await world.until(id, (report) => report.released)).toMatchObject({ state: 'killed' });
    await world.agent.remove(id);
    await world.disk.remove('output');
    await world.agent.start(someStart());
  });

  it('I32 a removal may free the space that its own record needs', async () => {
    const world = new SmallWorld();
    await world.openSmall();
    const order = someStart({ tasks: [someTask({ env: { HOLLOW_RUN_MS: '10' } })] });
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, (report) => report.released);
    await world.disk.remove('reserve');
    await world.disk.append(
      `attempts/${id}.main.1/out.0000000000000000`,
      'x'.repeat(await world.disk.freeBytes()),
    );
    await world.agent.remove(id);
    expect(world.agent.run(id)).toBeUndefined();
    await expect(world.agent.start(order)).rejects.toThrow(/stopped or removed/);
  });
});

it('S3.26 a disk without room is an attribute of the host, until it has some', async () => {
  const world = new HostWorld();
  await world.open();
  const told: (string | undefined)[] = [];
  const look = async (): Promise<void> => {
    if (await world.agent.lookForLeaks()) told.push(world.agent.host.attributes['disk.fault']);
  };
  await look();
  world.disk.setFreeBytes(1_024);
  await look();
  await look();
  world.disk.setFreeBytes(1024 ** 4);
  await look();
  expect(told).toEqual(['full', undefined]);
});
