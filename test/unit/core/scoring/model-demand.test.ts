import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskMix } from '../../../../src/core/scoring/fragmentation.ts';
import type { FreeDevices } from '../../../../src/core/scoring/model-demand.ts';
import { ModelDemand, NOTHING_KEPT } from '../../../../src/core/scoring/model-demand.ts';
import { keepGpusWhole } from '../../../../src/core/scoring/policy.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import type { GpuRequest } from '../../../../src/core/cell/resources.ts';
import {
  amounts,
  chanceOf,
  makeCell,
  makeClaim,
  makeHost,
  makeRequest,
} from '../placement/placement-fixtures.ts';

const MODELS = ['T4', 'G2', 'P100'];
const one = (...models: string[]): GpuRequest => ({ count: 1, milliEach: 1000, models });

function free(milli: Readonly<Record<string, number>>): FreeDevices {
  const totalMilli = Object.values(milli).reduce((sum, each) => sum + each, 0);
  return { totalMilli, freeMilli: (model) => milli[model] ?? 0 };
}

const anyGpu: fc.Arbitrary<GpuRequest> = fc.record({
  count: fc.integer({ min: 1, max: 4 }),
  milliEach: fc.constantFrom(300, 1000),
  models: fc.subarray(MODELS),
});
const anyMix: fc.Arbitrary<TaskMix> = fc.array(
  fc.record({
    cpuMilli: fc.constant(1000),
    gpu: fc.option(anyGpu),
    weight: fc.integer({ min: 1, max: 9 }),
  }),
  { maxLength: 6 },
);
const anyFree = fc.record(Object.fromEntries(MODELS.map((model) => [model, fc.nat(8000)])));

describe('ModelDemand', () => {
  it('keeps a model for those who name it, the more the less of it is free', () => {
    const demand = new ModelDemand([
      { gpu: one('T4'), weight: 1 },
      { gpu: one(), weight: 3 },
    ]);
    // A quarter of what comes must have a T4: of three quarters of 8,000, then of 4,000 and of 2,000.
    expect(demand.keptFrom(one(), free({ T4: 6000, G2: 2000 }))).toBe(NOTHING_KEPT);
    expect(demand.keptFrom(one(), free({ T4: 4000, G2: 8000 })).get('T4')).toBeCloseTo(0.5, 9);
    expect(demand.keptFrom(one(), free({ T4: 2000, G2: 6000 })).get('T4')).toBe(1);
    expect(demand.keptFrom(one(), free({ T4: 2000, G2: 6000 })).get('G2')).toBeUndefined();
  });

  it('keeps nothing from a task that can go nowhere else, nor from one that asks for no device', () => {
    const law = fc.property(anyMix, anyFree, fc.constantFrom(...MODELS), (mix, devices, model) => {
      const demand = new ModelDemand(mix);
      expect(demand.keptFrom(one(model), free(devices))).toBe(NOTHING_KEPT);
      expect(demand.keptFrom(null, free(devices))).toBe(NOTHING_KEPT);
    });
    fc.assert(law);
  });

  it('keeps between nothing and all of models that the task may use, whatever the unit of the weights', () => {
    const law = fc.property(anyMix, anyFree, anyGpu, (mix, devices, task) => {
      const kept = new ModelDemand(mix).keptFrom(task, free(devices));
      for (const [model, part] of kept) {
        expect(part).toBeGreaterThan(0);
        expect(part).toBeLessThanOrEqual(1);
        expect(task.models.length === 0 || task.models.includes(model)).toBe(true);
      }
      const heavier = mix.map((entry) => ({ ...entry, weight: 7 * entry.weight }));
      const same = new ModelDemand(heavier).keptFrom(task, free(devices));
      expect([...same.keys()]).toEqual([...kept.keys()]);
      for (const [model, part] of same) expect(part).toBeCloseTo(kept.get(model) ?? NaN, 9);
    });
    fc.assert(law);
  });

  it('keeps no less when others have taken of the model', () => {
    const law = fc.property(anyMix, anyFree, fc.nat(8000), (mix, devices, taken) => {
      const demand = new ModelDemand(mix);
      const milli = devices['T4'] ?? 0;
      const less = Math.max(1, milli - taken);
      fc.pre(less < milli);
      // The rest of the cell as large as it was, so that the cell has shrunk by nothing else.
      const others = { ...devices, other: milli - less };
      const before = demand.keptFrom(one(), free(devices)).get('T4') ?? 0;
      const after = demand.keptFrom(one(), free({ ...others, T4: less })).get('T4') ?? 0;
      expect(after).toBeGreaterThanOrEqual(before - 1e-9);
    });
    fc.assert(law);
  });
});

describe('place, with a mix that names models', () => {
  const mix: TaskMix = [
    { cpuMilli: 1000, gpu: one('T4'), weight: 2 },
    { cpuMilli: 1000, gpu: one(), weight: 2 },
  ];
  const policy = keepGpusWhole(mix);
  const host = (id: string, model: string): ReturnType<typeof makeHost> =>
    makeHost(id, { capacity: amounts(16_000, 16_384), gpuModels: [model, model] });
  const anywhere = makeRequest({ gpu: one() });

  it('leaves the named model to those who name it, and takes of it when nothing else is free', () => {
    const state = makeCell([host('a', 'T4'), host('b', 'G2')]);
    const places = (n: number): string | undefined =>
      place(state, anywhere, chanceOf(n), policy).chosen[0]?.host;
    for (let n = 0; n < 20; n++) expect(places(n)).toBe('b');
    state.assume(makeClaim('full', 'b', { gpus: [0, 1].map((device) => ({ device, milli: 1000 })) }));
    expect(places(1)).toBe('a');
  });

  it('knows what is free after any history as if it were counted from scratch', () => {
    const anyStep = fc.record({
      host: fc.nat(4),
      what: fc.constantFrom('assume', 'forget', 'dead', 'alive', 'remove', 'join', 'ledger'),
      milli: fc.constantFrom(200, 1000),
      model: fc.constantFrom(...MODELS),
      ask: fc.boolean(),
    });
    const law = fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
      const state = makeCell(MODELS.map((model, n) => host(`h${String(n)}`, model)));
      for (const [n, step] of steps.entries()) {
        const id = `h${String(step.host)}`;
        const gpus = [{ device: 0, milli: step.milli }];
        if (step.what === 'assume') state.assume(makeClaim(`c${String(n)}`, id, { gpus }));
        else if (step.what === 'forget') {
          const of = `h${String(steps[step.host]?.host ?? 0)}`;
          state.forget({ id: `c${String(step.host)}`, host: of });
        } else if (step.what === 'dead' || step.what === 'alive') state.setAlive(id, step.what === 'alive');
        else if (step.what === 'remove') state.removeHost(id);
        else if (step.what === 'join') state.setHost(host(id, step.model));
        else state.setLedger(id, { ...state.ledgerOf(id), gpuMilli: [step.milli] }, n + 1);
        if (step.ask) compare(state);
      }
      compare(state);
    });
    fc.assert(law, { numRuns: 300 });
  });

  function compare(state: ReturnType<typeof makeCell>): void {
    const counted = new Map<string, number>();
    for (const { host: each, ledger, alive } of state.views()) {
      if (!alive || ledger.state !== 'ready') continue;
      for (const [device, model] of each.gpuModels.entries()) {
        const milli = Math.max(0, 1000 - (ledger.gpuMilli[device] ?? 0));
        counted.set(model, (counted.get(model) ?? 0) + milli);
      }
    }
    const { gpuStock } = state.index;
    for (const model of MODELS) expect(gpuStock.freeMilli(model)).toBe(counted.get(model) ?? 0);
    expect(gpuStock.totalMilli).toBe([...counted.values()].reduce((sum, milli) => sum + milli, 0));
  }
});
