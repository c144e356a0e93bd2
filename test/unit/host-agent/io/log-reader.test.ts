import { describe, expect, it } from 'vitest';
import type { LogQuery } from '../../../../host-agent/io/log-reader.ts';
import { readLog } from '../../../../host-agent/io/log-reader.ts';
import type { AgentPorts } from '../../../../host-agent/ports.ts';
import type { TaskRun } from '../../../../host-agent/tasks/tasks.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import { attemptName, segmentName } from '../../../../src/wire/host-files/attempt-files.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { someTask } from '../../../support/host-orders.ts';

const ID = '01hf7yatcp7cy2pbjkyemzncv7';
const task = someTask();

/** The output of one attempt that has ended, in files that begin at these offsets. */
async function diskWith(files: Readonly<Record<number, string>>): Promise<MemoryDisk> {
  const disk = new MemoryDisk();
  for (const [base, text] of Object.entries(files))
    await disk.publish(
      `attempts/${attemptName(ID, task.name, 1)}/${segmentName('stdout', Number(base))}`,
      text,
    );
  return disk;
}

function queryFrom(offset: number): LogQuery {
  return {
    ...{ allocation: ID, stream: 'stdout', offset, follow: false, attemptsKept: 3 },
    run: { attemptNumber: 1, done: true, task } as TaskRun,
    onChange: () => () => undefined,
  };
}

/** Reads until the stream ends. `cut`: not in order. */
async function readAll(
  disk: MemoryDisk,
  from: number,
): Promise<{ offset: number; text: string; cut: boolean }> {
  const { offset, chunks } = await readLog(
    { disk } as unknown as AgentPorts,
    queryFrom(from),
    new AbortController().signal,
  );
  let text = '';
  try {
    for await (const chunk of chunks) text += Buffer.from(chunk).toString();
    return { offset, text, cut: false };
  } catch {
    return { offset, text, cut: true };
  }
}

describe('I28 the output of a task, from an offset', () => {
  it('I28 ends in order where all is read', async () => {
    const disk = await diskWith({ 0: 'one\n', 4: 'two\n' });
    expect(await readAll(disk, 0)).toEqual({ offset: 0, text: 'one\ntwo\n', cut: false });
    expect(await readAll(disk, 8)).toEqual({ offset: 8, text: '', cut: false });
    expect(await readAll(disk, 20)).toEqual({ offset: 20, text: '', cut: false });
  });

  it('I28 is cut where the agent stops, or the reader goes, before the task has ended', async () => {
    const disk = await diskWith({ 0: 'one\n' });
    const stop = new AbortController();
    const ports = { disk, clock: new ManualClock() } as unknown as AgentPorts;
    const run = { attemptNumber: 1, done: false, task } as TaskRun;
    const { chunks } = await readLog(ports, { ...queryFrom(0), run, follow: true }, stop.signal);
    let text = '';
    const reading = (async () => {
      for await (const chunk of chunks) {
        text += Buffer.from(chunk).toString();
        stop.abort();
      }
    })();
    await expect(reading).rejects.toThrow();
    expect(text).toBe('one\n');
  });

  it('I28 begins behind what was given up, and says so', async () => {
    const disk = await diskWith({ 40: 'one\n' });
    expect(await readAll(disk, 3)).toEqual({ offset: 40, text: 'one\n', cut: false });
  });

  it('I28 is cut at a hole between two files, and goes on behind it', async () => {
    const disk = await diskWith({ 0: 'one\n', 40: 'two\n' });
    expect(await readAll(disk, 0)).toEqual({ offset: 0, text: 'one\n', cut: true });
    expect(await readAll(disk, 4)).toEqual({ offset: 40, text: 'two\n', cut: false });
    expect(await readAll(disk, 17)).toEqual({ offset: 40, text: 'two\n', cut: false });
  });

  it('I28 takes no file for given up that one listing alone does not show', async () => {
    const disk = await diskWith({ 0: 'one\n', 4: 'two\n', 8: 'three\n' });
    const all = disk.list.bind(disk);
    let listed = 0;
    disk.list = async (path) => {
      const names = await all(path);
      listed += 1;
      return listed === 1 ? names.filter((name) => name !== segmentName('stdout', 4)) : names;
    };
    expect(await readAll(disk, 4)).toEqual({ offset: 4, text: 'two\nthree\n', cut: false });
    expect(listed).toBeGreaterThan(1);
  });

  it('I28 says an offset also where each listing shows another file as the oldest', async () => {
    const disk = await diskWith({ 40: 'one\n' });
    let base = 40;
    disk.list = () => Promise.resolve([segmentName('stdout', (base += 8))]);
    const { offset } = await readAll(disk, 3);
    expect(offset).toBeGreaterThan(40);
  });
});
