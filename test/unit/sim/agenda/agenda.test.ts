import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Agenda } from '../../../../sim/agenda/agenda.ts';
import { drive } from '../../../../sim/agenda/drive.ts';
import { Life } from '../../../../sim/agenda/life.ts';
import { Timekeeper, VirtualClock } from '../../../../sim/agenda/virtual-clock.ts';
import { sleep } from '../../../../src/runtime/wait/wait.ts';

describe('agenda', () => {
  it('lets things happen by time, and those of one instant in the order in which they were entered', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 60 }), (delays) => {
        const agenda = new Agenda();
        const life = new Life('a');
        const seen: { readonly atMs: number; readonly entered: number }[] = [];
        for (const [entered, delay] of delays.entries())
          agenda.after(delay, life, 'x', () => seen.push({ atMs: agenda.nowMs, entered }));
        while (agenda.step());
        const expected = delays
          .map((atMs, entered) => ({ atMs, entered }))
          .sort((a, b) => a.atMs - b.atMs || a.entered - b.entered);
        expect(seen).toEqual(expected);
        expect(agenda.events).toBe(delays.length);
      }),
    );
  });

  it('leaves out what was taken back, and whatever belongs to a life that ended', () => {
    const agenda = new Agenda();
    const [one, other] = [new Life('one'), new Life('other')];
    const seen: string[] = [];
    const cancel = agenda.after(1, one, 'x', () => seen.push('cancelled'));
    agenda.after(2, one, 'x', () => seen.push('kept'));
    agenda.after(3, one, 'x', () => seen.push('dead'));
    agenda.after(4, other, 'x', () => seen.push('other'));
    cancel();
    agenda.step(2);
    one.end();
    while (agenda.step());
    expect(seen).toEqual(['kept', 'other']);
    expect(agenda.events).toBe(2);
  });

  it('F2 holds back what is due to a paused life, and lets it happen in order when the life goes on', () => {
    const agenda = new Agenda();
    const [one, other] = [new Life('one'), new Life('other')];
    const seen: string[] = [];
    for (const n of [1, 2, 3]) agenda.after(n, one, 'x', () => seen.push(`one ${String(n)}`));
    const cancel = agenda.after(2, one, 'x', () => seen.push('taken back while held'));
    agenda.after(2, other, 'x', () => seen.push('other'));
    one.pause();
    while (agenda.step(10));
    expect(seen).toEqual(['other']);
    cancel();
    agenda.resume(one);
    while (agenda.step(10));
    expect(seen).toEqual(['other', 'one 1', 'one 2', 'one 3']);
  });

  it('moves the time to the end of what was asked for, also when nothing happens', () => {
    const agenda = new Agenda();
    agenda.after(50, new Life('a'), 'x', () => undefined);
    expect(agenda.step(20)).toBe(false);
    expect(agenda.nowMs).toBe(20);
    expect(agenda.nextAtMs).toBe(50);
  });
});

describe('drive', () => {
  it('lets all promises settle between two entries', async () => {
    const agenda = new Agenda();
    const clock = new VirtualClock(agenda);
    const seen: string[] = [];
    const walk = async (name: string): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await sleep(clock, 10);
        for (let hop = 0; hop < 50; hop++) await Promise.resolve();
        seen.push(`${name}${String(i)}`);
      }
    };
    void walk('a');
    void walk('b');
    await drive(agenda, { untilMs: 1_000 });
    expect(seen).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2']);
    expect(agenda.nowMs).toBe(1_000);
  });

  it('rejects with what an entry throws', async () => {
    const agenda = new Agenda();
    agenda.after(1, new Life('a'), 'x', () => {
      throw new Error('impossible');
    });
    await expect(drive(agenda, { untilMs: 10 })).rejects.toThrow('impossible');
  });

  it('takes acting in real time for an error', async () => {
    const agenda = new Agenda();
    const clock = new VirtualClock(agenda);
    const tick = (): void => void clock.after(1, tick);
    tick();
    // Begun by an entry: what was due before the first one is not outside of anything yet.
    const caught = new Promise<unknown>((resolve) => {
      clock.after(1, () =>
        setTimeout(() => {
          try {
            clock.after(1, () => undefined);
            resolve(null);
          } catch (error) {
            resolve(error);
          }
        }, 1),
      );
    });
    let error: unknown;
    void caught.then((found) => (error = found ?? 'none'));
    await drive(agenda, { untilMs: Infinity, done: () => error !== undefined });
    expect(String(error)).toContain('outside of virtual time');
  });
});

describe('virtual clock', () => {
  it('F14 runs fast or slow with its machine, and can be set, while its timers stay true to it', () => {
    const agenda = new Agenda();
    const time = new Timekeeper(agenda);
    const clock = new VirtualClock(agenda, new Life('host'), time);
    const begun = clock.nowMs();
    time.setRate(2);
    let woken = -1;
    clock.after(100, () => (woken = agenda.nowMs));
    while (agenda.step(200));
    expect(woken).toBe(50);
    expect(clock.monotonicMs()).toBe(400);
    time.stepWall(-10_000);
    expect(clock.nowMs()).toBe(begun + 400 - 10_000);
    expect(clock.monotonicMs()).toBe(400);
  });
});
