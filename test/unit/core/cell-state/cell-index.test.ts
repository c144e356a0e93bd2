import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CPU, ROW } from '../../../../src/core/cell-state/capacity-tree.ts';
import { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { HostTally } from '../../../../src/core/cell-state/host-tables.ts';
import { BINPACK } from '../../../../src/core/scoring/policy.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import {
  amounts,
  chanceOf,
  expr,
  makeGroup,
  makeHost,
  makeRequest,
} from '../placement/placement-fixtures.ts';

const ZONES = ['z0', 'z1', 'z2'];

describe('CellIndex', () => {
  it('keeps every host at its own row in all tables while hosts come, change and go', () => {
    const anyStep = fc.record({
      host: fc.integer({ min: 0, max: 30 }),
      cpu: fc.integer({ min: 1, max: 9 }),
      zone: fc.constantFrom(...ZONES),
      gone: fc.boolean(),
      arranged: fc.boolean(),
    });
    const law = fc.property(fc.array(anyStep, { maxLength: 80 }), (steps) => {
      const state = new CellState();
      const there = new Map<string, (typeof steps)[number]>();
      for (const step of steps) {
        const id = `h${String(step.host)}`;
        if (step.gone) {
          state.removeHost(id);
          there.delete(id);
        } else {
          const { zone, cpu } = step;
          state.setHost(makeHost(id, { capacity: amounts(cpu * 1000, 1000), attributes: { zone } }));
          state.setAlive(id, true);
          there.set(id, step);
        }
        if (step.arranged) state.arrange();
        // A tree over some hosts, made again whenever hosts come or go.
        place(state, makeRequest({ group: inZone('z0') }), chanceOf(1), BINPACK);
      }
      const { index } = state;
      expect(index.size).toBe(there.size);
      for (const [id, { cpu, zone }] of there) {
        const at = state.indexOf(id);
        expect(index.slot(at).id).toBe(id);
        expect(state.known(id)).toBe(index.slot(at));
        expect(index.rows[at * ROW + CPU]).toBe(cpu * 1000);
        const { classes, classOf } = index.classes;
        expect(classes[classOf[at] ?? -1]?.hosts).toContain(at);
        expect(classes[classOf[at] ?? -1]?.example.attributes).toEqual({ zone });
      }
      for (const zone of ZONES) {
        const wanted = [...there.values()].filter((each) => each.zone === zone);
        const room = wanted.reduce((sum, { cpu }) => sum + cpu, 0);
        const request = makeRequest({ group: inZone(zone), resources: amounts(1000, 1), count: 500 });
        expect(place(state, request, chanceOf(2), BINPACK).chosen.length).toBe(room);
      }
    });
    fc.assert(law, { numRuns: 300 });
  });

  it('has the same order in all schedulers, whichever hosts each found when it began', () => {
    const ids = Array.from({ length: 200 }, (_, n) => `h${String(n)}`);
    const orderOf = (came: readonly string[], gone: readonly string[]): readonly number[] => {
      const state = new CellState();
      for (const id of came) state.setHost(makeHost(id));
      for (const id of gone) state.removeHost(id);
      for (const id of gone) state.setHost(makeHost(id));
      const { version } = state.index.classes;
      state.arrange();
      // Whatever is kept by index is counted again.
      expect(state.index.classes.version).not.toBe(version);
      return ids.map((id) => state.indexOf(id));
    };
    const known = orderOf(ids, []);
    expect([...known].sort((a, b) => a - b)).toEqual([...ids.keys()]);
    const anyWay = fc.shuffledSubarray(ids, { minLength: ids.length });
    const law = fc.property(anyWay, fc.subarray(ids), (came, gone) => {
      expect(orderOf(came, gone)).toEqual(known);
    });
    fc.assert(law, { numRuns: 30 });
  });
});

function inZone(zone: string): ReturnType<typeof makeGroup> {
  return makeGroup({ constraints: [expr('zone', '==', zone)] });
}

describe('HostTally', () => {
  it('counts like a map that is emptied', () => {
    const anyStep = fc.oneof(fc.constant('clear' as const), fc.integer({ min: 0, max: 40 }));
    const law = fc.property(fc.array(anyStep, { maxLength: 100 }), (steps) => {
      const tally = new HostTally();
      const model = new Map<number, number>();
      for (const step of steps) {
        if (step === 'clear') {
          tally.clear();
          model.clear();
        } else {
          tally.add(step);
          model.set(step, (model.get(step) ?? 0) + 1);
        }
        for (let host = 0; host <= 41; host++) expect(tally.of(host)).toBe(model.get(host) ?? 0);
      }
    });
    fc.assert(law, { numRuns: 100 });
  });
});
