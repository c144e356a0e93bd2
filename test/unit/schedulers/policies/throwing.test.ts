import { afterEach, beforeEach, expect, it } from 'vitest';
import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import { roleCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

let world: CellWorld;
beforeEach(() => (world = new CellWorld()));
afterEach(() => world.close());

async function whyOf(job: string): Promise<string> {
  const { address } = roleCodec.decode(world.cell.get(keys.role('scheduler', 'own-1'))?.value ?? '');
  const why = await new SchedulerClient(world.network.client()).why(address, 'default', job);
  return `${why?.summary ?? ''} ${JSON.stringify(why?.groups ?? [])}`;
}

it("a job on which somebody's policy throws waits with the error, others go on, and it is tried again", async () => {
  let asked = 0;
  let isMended = false;
  const policy = {
    name: 'mine',
    score: (_host: unknown, { job }: { readonly job: string }): number => {
      asked += 1;
      // Not at the first: what was placed before is taken back.
      if (job === 'bad' && !isMended && asked % 3 === 2) throw new Error('no rank for bad\n  at somewhere');
      return 0.5;
    },
  };
  for (const host of ['h1', 'h2', 'h3']) await world.host(host, 4_000);
  const { events } = await world.scheduler({ id: 'own-1', kind: 'batch', policy });
  await world.submit(makeJob('bad', {}, { count: 5 }, 100));
  for (const name of ['a', 'b', 'c']) await world.submit(makeJob(name, {}, { count: 2 }, 100));
  const running = (name: string) => world.running().filter(({ job }) => job === name).length;
  await world.until(() => ['a', 'b', 'c'].every((name) => running(name) === 2), 'the other jobs');
  expect(running('bad')).toBe(0);
  expect(await whyOf('bad')).toContain('policy mine failed on h');
  expect(await whyOf('bad')).toContain('no rank for bad at somewhere');
  const told = events.filter(
    ({ kind, detail }) => kind === 'parked' && detail?.includes('policy mine') === true,
  );
  expect(told.length).toBeGreaterThan(0);
  expect(world.ledgersAreTrue()).toBe(true);
  isMended = true;
  await world.until(() => running('bad') === 5, 'the mended policy', 20_000);
  await world.submit(makeJob('whole', {}, { count: 3 }, 2_500));
  await world.until(() => running('whole') === 3, 'no capacity that was taken for nothing', 20_000);
});
