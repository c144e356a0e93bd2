import { describe, expect, it } from 'vitest';
import type { WorldResult } from '../../sim/world/options.ts';
import { seedOptions } from '../../sim/seeds/seeds.ts';
import { runWorld } from '../../sim/world/run-world.ts';
import { SMALL_CELL } from '../../sim/world/scenario.ts';
import { runBundled } from '../support/bundled.ts';

function run(seed: number): Promise<WorldResult> {
  return runWorld({ seed, scenario: SMALL_CELL, faults: {} });
}

async function inAnotherProcess(seed: number, world: 'calm' | 'hostile'): Promise<unknown> {
  return JSON.parse(await runBundled('test/sim/run-child', [String(seed), world]));
}

describe('the simulated world', () => {
  it('S2 the same seed gives the same run, event by event, twice in this process and in another one', async () => {
    const first = await run(1);
    const between = await run(2);
    const second = await run(1);
    expect(second.traceHash).toBe(first.traceHash);
    expect(second.work).toEqual(first.work);
    expect(between.traceHash).not.toBe(first.traceHash);
    const elsewhere = await inAnotherProcess(1, 'calm');
    expect(elsewhere).toEqual({ traceHash: first.traceHash, events: first.events });
  });

  it('S2 so does it with all faults that its seed draws', async () => {
    const first = await runWorld(seedOptions(4));
    const between = await runWorld(seedOptions(5));
    const second = await runWorld(seedOptions(4));
    expect(first.faultPlan.length).toBeGreaterThan(2);
    expect(second.faultPlan).toEqual(first.faultPlan);
    expect(second.traceHash).toBe(first.traceHash);
    expect(between.traceHash).not.toBe(first.traceHash);
    const elsewhere = await inAnotherProcess(4, 'hostile');
    expect(elsewhere).toEqual({ traceHash: first.traceHash, events: first.events });
  });

  it('runs the production roles from submission to outcome when nothing goes wrong', async () => {
    for (const seed of [11, 12, 13]) {
      const { work, errors, history, events } = await run(seed);
      expect({ seed, errors }).toEqual({ seed, errors: [] });
      expect(work.acknowledged).toBe(work.submitted);
      expect(work.committed).toBeGreaterThan(5);
      expect(work.started).toBeGreaterThan(5);
      expect(work.outcomes).toBeGreaterThan(0);
      expect(events).toBeGreaterThan(3_000);
      expect(history.grants.length).toBeGreaterThan(5);
      expect(history.orders.length).toBeGreaterThan(5);
    }
  });

  it('lets a killed role come back, and ends as before: its events after the kill never happen', async () => {
    const seen: string[] = [];
    const killAt = { actor: 'host-1', eventIndex: 600, downMs: 5_000 };
    let backMs = 0;
    const { work, history } = await runWorld({
      ...{ seed: 3, scenario: SMALL_CELL, faults: {}, killAt },
      trace: {
        event: (entry, index) => {
          const own = entry.life.actor === 'host-1' && index > killAt.eventIndex;
          if (own) backMs ||= entry.atMs;
          if (own) seen.push(`${String(entry.life.incarnation)} ${entry.kind}`);
        },
      },
    });
    const killed = history.actors.find(({ fact }) => fact.change === 'killed');
    expect(killed?.fact).toMatchObject({ actor: 'host-1', instance: 1 });
    expect(seen.every((event) => event.startsWith('2 '))).toBe(true);
    expect(backMs).toBeGreaterThanOrEqual((killed?.atMs ?? 0) + 5_000);
    expect(work.outcomes).toBeGreaterThan(0);
  });
});
