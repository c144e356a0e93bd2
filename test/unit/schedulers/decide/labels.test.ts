import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Eligibility } from '../../../../src/core/host/host.ts';
import { eligibilityCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

let world: CellWorld;
beforeEach(() => (world = new CellWorld()));
afterEach(() => world.close());

const ZONE_A = [{ attribute: 'zone', operator: '==', value: 'a', text: 'host.zone == a' }] as const;

async function label(host: string, labels: Readonly<Record<string, string>>): Promise<void> {
  const record: Eligibility = { state: 'ready', reason: '', by: '', sinceMs: 0, counter: 0, labels };
  await world.put(keys.eligibilityOf(host), eligibilityCodec.encode(record));
}

it('what waits goes where a label lets it, and moves on when that is taken away', async () => {
  await world.host('h1', 4_000);
  await world.host('h2', 4_000);
  const { events } = await world.scheduler({ id: 'service-1', kind: 'service' });
  await world.submit(makeJob('web', { type: 'service' }, { constraints: ZONE_A, count: 2 }));
  await world.until(() => events.some(({ kind }) => kind === 'parked'), 'parking');
  await label('h1', { zone: 'a' });
  await world.until(() => world.hostsOf('web').join() === 'h1,h1', 'the labelled host');
  await label('h2', { zone: 'a' });
  await label('h1', { zone: 'b' });
  await world.until(() => world.hostsOf('web').join() === 'h2,h2', 'the other one', 60_000);
  expect(world.outcomes().map(({ cause }) => cause)).toEqual([
    'host no longer matches',
    'host no longer matches',
  ]);
});

it('a system job follows the labels too', async () => {
  await world.host('h1', 4_000);
  await world.host('h2', 4_000, { zone: 'a' });
  await world.scheduler({ id: 'system-1', kind: 'system' });
  await world.submit(makeJob('node', { type: 'system' }, { constraints: ZONE_A }));
  await world.until(() => world.hostsOf('node').join() === 'h2', 'the host whose agent says so');
  await label('h1', { zone: 'a' });
  await world.until(() => world.hostsOf('node').join() === 'h1,h2', 'both');
  await label('h2', { zone: 'b' });
  await world.until(() => world.hostsOf('node').join() === 'h1', 'one left');
});
