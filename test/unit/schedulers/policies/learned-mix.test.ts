import { afterEach, expect, it } from 'vitest';
import { compileOptions } from '../../../../schedulers/policies/options.ts';
import type { GpuRequest } from '../../../../src/core/cell/resources.ts';
import { hostCodec } from '../../../../src/wire/records/records.ts';
import { amounts, makeHost } from '../../core/placement/placement-fixtures.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

let world: CellWorld | undefined;
afterEach(() => world?.close());

/** A job of tasks with one device each. */
function jobWithGpu(name: string, count: number, gpu: GpuRequest) {
  const job = makeJob(name, {}, { count });
  const group = job.groups[name]!;
  const main = { ...group.tasks['main']!, gpu };
  return { ...job, groups: { [name]: { ...group, tasks: { main } } } };
}

it('fgd learns from the jobs that it takes which models to keep for those who name them', async () => {
  world = new CellWorld();
  for (const model of ['T4', 'G2']) {
    const host = await world.host(model.toLowerCase());
    const record = makeHost(model.toLowerCase(), {
      ...{ address: host.address, capacity: amounts(64_000, 64_000, 64_000) },
      gpuModels: [model, model, model, model],
    });
    await world.put(keys.host(model.toLowerCase()), hostCodec.encode(record));
  }
  await world.scheduler({ id: 'batch-1', score: 'fgd' });
  const hostsOf = (job: string) => world!.allocations().filter((each) => each.job === job);
  await world.submit(jobWithGpu('named', 2, { count: 1, milliEach: 1000, models: ['T4'] }));
  await world.until(() => hostsOf('named').length === 2, 'the named have a place');
  await world.submit(jobWithGpu('any', 1, { count: 1, milliEach: 1000, models: [] }));
  await world.until(() => hostsOf('any').length === 1, 'the one that takes any has a place');
  expect(hostsOf('named').map(({ host }) => host)).toEqual(['t4', 't4']);
  // The other host is emptier, and a policy that packs would fill this one up.
  expect(hostsOf('any').map(({ host }) => host)).toEqual(['g2']);
});

it('each scheduler has a mix of its own, and an unknown policy is named with those that there are', () => {
  const made = (score: string) => compileOptions({ id: 'batch-1', kind: 'batch', score });
  expect(made('fgd').learnedMix).not.toBe(made('fgd').learnedMix);
  expect(made('binpack').learnedMix).toBeNull();
  expect(() => made('best')).toThrow(/no score policy best; there are .*binpack.*fgd/);
});
