import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import { HollowProcesses } from '../../../../src/adapters/memory/processes.ts';
import type { ShimLink } from '../../../../src/ports/process.ts';
import type { ExitRecord, ShimLaunch } from '../../../../src/wire/host-files/attempt-files.ts';
import { encodeLaunch, exitFile } from '../../../../src/wire/host-files/attempt-files.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const NAME = 'a.main.1';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('hollow tasks keep the rules of real shims', () => {
  let disk: MemoryDisk;
  let clock: ManualClock;
  let processes: HollowProcesses;

  beforeEach(() => {
    disk = new MemoryDisk();
    clock = new ManualClock();
    processes = new HollowProcesses({ disk, clock });
  });

  const begin = async (order: Partial<ShimLaunch>): Promise<ShimLink> => {
    const launch: ShimLaunch = {
      ...{ cwd: '/', outBase: 0, errBase: 0, segmentBytes: 1000, segmentsMax: 2, command: ['x'], env: {} },
      ...order,
    };
    await disk.makeFolder(`attempts/${NAME}`);
    await disk.publish(`attempts/${NAME}/launch`, encodeLaunch(launch));
    await processes.startShim(NAME);
    const link = await processes.open(NAME);
    if (link === null) throw new Error('no shim answers');
    return link;
  };
  const exitOf = async (name = NAME): Promise<ExitRecord | null> => {
    const text = await disk.read(`attempts/${name}/exit`);
    return text === null ? null : exitFile.decode(text);
  };

  it('S2.4 stdin by offset: known bytes ignored, gaps refused, the end said once', async () => {
    const link = await begin({ stdin: 'open', env: { HOLLOW_ECHO: '1', HOLLOW_EXIT_CODE: '3' } });
    const pieces: string[] = [];
    expect(await link.tail((piece) => pieces.push(new TextDecoder().decode(piece.bytes)))).toEqual({
      out: 0,
      err: 0,
    });
    expect(await link.writeStdin(1, bytes('x'))).toEqual({ next: 0, refused: 'gap' });
    expect(await link.writeStdin(0, bytes('ab'))).toEqual({ next: 2 });
    expect(await link.writeStdin(0, bytes('abc'))).toEqual({ next: 3 });
    expect(await link.endStdin(4)).toEqual({ next: 3, refused: 'gap' });
    expect(await link.endStdin(3)).toEqual({ next: 3 });
    expect(pieces).toEqual(['ab', 'c']);
    expect(await exitOf()).toMatchObject({ code: 3, out: 3 });
    expect(await link.state()).toBeNull();
    await link.ended;
  });

  it('S2.16 each signal once by its sequence', async () => {
    const link = await begin({ env: { HOLLOW_IGNORES_SIGNALS: '1' } });
    expect(await link.signal('SIGUSR1', 1)).toBe(0);
    expect(await link.signal('SIGUSR1', 1)).toBe(0);
    expect(await processes.signal(NAME, 'SIGUSR1', 1)).toBe(true);
    expect(await link.signal('SIGUSR2', 2)).toBe(0);
    expect(processes.signalsOf(NAME)).toEqual(['SIGUSR1', 'SIGUSR2']);
    expect(await link.state()).toMatchObject({ signalSequence: 2 });
  });

  it('I16 stops at its deadline unless an agent renews it', async () => {
    const link = await begin({ stopAfterDisconnectMs: 1_000 });
    await clock.advance(900);
    await link.renew(1_000);
    await clock.advance(900);
    expect(await link.state()).toMatchObject({ disconnectLeftMs: 100 });
    await clock.advance(200);
    expect(await exitOf()).toMatchObject({ signal: 'SIGTERM', stoppedBy: 'disconnect' });
  });

  it('I16 kills after the grace who does not heed the deadline', async () => {
    const link = await begin({
      ...{ runMaxMs: 1_000, stop: { signal: 'SIGINT', graceMs: 500 } },
      env: { HOLLOW_IGNORES_SIGNALS: '1' },
    });
    await clock.advance(1_100);
    expect(await link.state()).toMatchObject({ stopping: true });
    expect(processes.signalsOf(NAME)).toEqual(['SIGINT']);
    await clock.advance(500);
    expect(await exitOf()).toMatchObject({ signal: 'SIGKILL', stoppedBy: 'run-max' });
  });

  it('S2.8 I34 a command inside a task once for each id; it ends with the task', async () => {
    await begin({});
    const name = await processes.exec(NAME, 'c1', { command: ['ls'] });
    expect(name).toBe(`${NAME}/exec/c1`);
    expect(await processes.exec(NAME, 'c1', { command: ['rm'] })).toBe(name);
    expect(processes.running).toEqual([NAME, name]);
    await processes.killTree(NAME);
    expect(await exitOf(name ?? '')).toMatchObject({ signal: 'SIGKILL' });
    expect(await processes.exec(NAME, 'c1', { command: ['ls'] })).toBe(name);
    expect(await processes.exec(NAME, 'c2', { command: ['ls'] })).toBeNull();
    expect(processes.running).toEqual([]);
  });

  it('a terminal has a size; what has none says so', async () => {
    const link = await begin({ pty: { rows: 2, columns: 3 } });
    expect(await link.resize(4, 5)).toBe(0);
    expect(await link.state()).toMatchObject({ pty: true, rows: 4, columns: 5, stdinOpen: true });
    expect(await link.freeze(true)).not.toBe(0);
    await link.killTree();
    const plain = await processes.open(NAME);
    expect(plain).toBeNull();
  });
});
