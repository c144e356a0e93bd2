import { afterEach, expect, it } from 'vitest';
import { staysWhole } from '../../../schedulers/gang-whole.ts';
import type { Entry } from '../../../schedulers/owned-job.ts';
import { newEntry, OwnedJob } from '../../../schedulers/owned-job.ts';
import type { Allocation } from '../../../src/core/allocation.ts';
import type { JobRecord } from '../../../src/core/job.ts';
import { CellWorld, makeJob } from './cell-world.ts';

let world: CellWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

for (const count of [1, 3])
  it(`I6 a gang of ${String(count)} whose hosts are all lost is placed again`, async () => {
    world = new CellWorld();
    const { hosts } = world;
    for (let n = 0; n < 2 * count; n++) await world.host(`h${String(n)}`, 1_000);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    const reschedule = { attempts: null, delayMs: 0, delayMaxMs: 0, onHostLost: true };
    await world.submit(makeJob('gang', { type: 'service' }, { count, gang: true, reschedule }));
    await world.until(() => world?.running().length === count, 'the gang');
    const lost = new Set(world.running().map(({ host }) => host));
    const addresses = [...lost].map((id) => hosts.get(id)?.address ?? id);
    world.fate = ({ url }) => (addresses.some((address) => url.startsWith(address)) ? 'refuse' : 'pass');
    for (const id of lost) await world.verdict(id, 'lost');
    const isBack = (): boolean =>
      world?.allocations().filter(({ host, desired }) => desired === 'run' && !lost.has(host)).length ===
      count;
    await world.until(isBack, 'its successor');
    expect(world.ledgersAreTrue()).toBe(true);
  });

function gangOf(count: number): OwnedJob {
  const job = makeJob('gang', {}, { count, gang: true });
  const record: JobRecord = { job, version: 1, desired: 'run', submittedAtMs: 0 };
  return new OwnedJob(record, 1, 1);
}

function member(job: OwnedJob, index: number, part: Partial<Allocation> = {}, revision = 5): Entry {
  const id = `a${String(job.entries.size)}`;
  const allocation = { id, index, group: 'gang', host: `h${String(index)}`, desired: 'run', ...part };
  const entry = newEntry(allocation as Allocation, revision, 'ticket');
  job.entries.set(id, entry);
  return entry;
}

const nobody = { leaving: new Set<string>(), isLost: () => false, open: () => 0 };

it('I6 members come beside one that stands, or when no slot is open besides', () => {
  const job = gangOf(2);
  const group = job.record.job.groups['gang']!;
  const first = member(job, 0, {}, 0);
  expect(staysWhole(job, group, [first], { ...nobody, open: () => 1 })).toBe(false);
  expect(staysWhole(job, group, [first], nobody)).toBe(true);
  const other = member(job, 1);
  expect(staysWhole(job, group, [first], { ...nobody, open: () => 1 })).toBe(true);
  other.releasing = true;
  expect(staysWhole(job, group, [first], nobody)).toBe(false);
  expect(staysWhole(job, group, [first], { ...nobody, leaving: new Set([other.allocation.id]) })).toBe(true);
});

it('I6 members do not come beside one that is told to begin again, and wait for nobody on a lost host', () => {
  const job = gangOf(2);
  const group = job.record.job.groups['gang']!;
  const first = member(job, 0, {}, 0);
  const other = member(job, 1);
  other.marking = true;
  expect(staysWhole(job, group, [first], nobody)).toBe(false);
  const ending = gangOf(1);
  member(ending, 0, { host: 'lost', desired: 'stop' });
  const next = member(ending, 0, {}, 0);
  const isLost = (host: string): boolean => host === 'lost';
  expect(staysWhole(ending, group, [next], nobody)).toBe(false);
  expect(staysWhole(ending, group, [next], { ...nobody, isLost })).toBe(true);
});
