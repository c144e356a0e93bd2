import { describe, expect, it } from 'vitest';
import { Signals, SIGNALS_KNOWN_MIN } from '../../../../host-agent/io/signals.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import type { ShimLink } from '../../../../src/ports/process.ts';
import { HostWorld } from '../../../support/host-world.ts';

const TASK = 'a.main.1';
/** More than the log holds before it is written anew. */
const MANY = 5_000;

/** A shim as its protocol says: no number twice, and none that is older than the last. */
class CountingShim {
  readonly sent: number[] = [];
  readonly disk = new MemoryDisk();

  async signal(_signal: string, sequence: number): Promise<number> {
    if (sequence <= (this.sent.at(-1) ?? 0)) return 0;
    this.sent.push(sequence);
    await this.disk.append(`attempts/${TASK}/acks`, `${String(sequence)} 0\n`);
    return 0;
  }

  signals(): Signals {
    const { ports } = new HostWorld();
    const state = () => Promise.resolve({ signalSequence: this.sent.at(-1) ?? 0 });
    const signal = (name: string, sequence: number) => this.signal(name, sequence);
    const link = { state, signal, close: () => undefined } as unknown as ShimLink;
    const processes = Object.assign(Object.create(ports.processes) as typeof ports.processes, {
      open: () => Promise.resolve(link),
    });
    return new Signals({ ...ports, disk: this.disk, processes });
  }
}

function idOf(n: number): string {
  return `s${String(n)}`;
}

describe('signals from outside', () => {
  it('S2.8 S2.16 any number of them, each sent once, however often agents die', async () => {
    const shim = new CountingShim();
    let signals = shim.signals();
    for (let n = 1; n <= MANY; n++) {
      // Each agent reads what the one before wrote down.
      if (n % 700 === 0) signals = shim.signals();
      expect(await signals.send(TASK, idOf(n), 'SIGHUP')).toBe(0);
      if (n % 500 === 0) await signals.replay(TASK);
    }
    expect(shim.sent).toEqual(Array.from({ length: MANY }, (_, n) => n + 1));
    for (let n = MANY - SIGNALS_KNOWN_MIN + 1; n <= MANY; n += 97)
      await signals.send(TASK, idOf(n), 'SIGHUP');
    expect(shim.sent.length).toBe(MANY);
  });

  it('the log of them is bounded', async () => {
    const shim = new CountingShim();
    const signals = shim.signals();
    for (let n = 1; n <= MANY; n++) await signals.send(TASK, idOf(n), 'SIGHUP');
    const lines = ((await shim.disk.read(`attempts/${TASK}/cmds.wal`)) ?? '').split('\n').filter(Boolean);
    expect(lines.length).toBeLessThanOrEqual(2 * SIGNALS_KNOWN_MIN);
  });
});
