import { afterEach, expect, it } from 'vitest';
import { completesGang } from '../../../../schedulers/gangs/gangs.ts';
import { Entry, OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import type { JobRecord } from '../../../../src/core/cell/job.ts';
import { withAttempt } from '../../../support/mortal-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

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
    for (const id of lost) await world.lose(id);
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
  const entry = new Entry(allocation as Allocation, revision, 'ticket');
  job.entries.set(id, entry);
  return entry;
}

const nobody = { leaving: new Set<string>(), isLost: () => false, open: () => 0 };

it('I6 members come beside one that stands, or when no slot is open besides', () => {
  const job = gangOf(2);
  const group = job.record.job.groups['gang']!;
  const first = member(job, 0, {}, 0);
  expect(completesGang(job, group, [first], { ...nobody, open: () => 1 })).toBe(false);
  expect(completesGang(job, group, [first], nobody)).toBe(true);
  const other = member(job, 1);
  expect(completesGang(job, group, [first], { ...nobody, open: () => 1 })).toBe(true);
  other.releasing = true;
  expect(completesGang(job, group, [first], nobody)).toBe(false);
  expect(completesGang(job, group, [first], { ...nobody, leaving: new Set([other.allocation.id]) })).toBe(
    true,
  );
});

it('I6 members do not come beside one that is told to begin again, and wait for nobody on a lost host', () => {
  const job = gangOf(2);
  const group = job.record.job.groups['gang']!;
  const first = member(job, 0, {}, 0);
  const other = member(job, 1);
  other.marking = true;
  expect(completesGang(job, group, [first], nobody)).toBe(false);
  const ending = gangOf(1);
  member(ending, 0, { host: 'lost', desired: 'stop' });
  const next = member(ending, 0, {}, 0);
  const isLost = (host: string): boolean => host === 'lost';
  expect(completesGang(ending, group, [next], nobody)).toBe(false);
  expect(completesGang(ending, group, [next], { ...nobody, isLost })).toBe(true);
});

for (const way of ['released', 'told to stop'] as const)
  it(`I6 the other member is not ${way} while one comes to the store beside it`, async () => {
    const cell = (world = new CellWorld());
    for (let n = 0; n < 3; n++) await cell.host(`h${String(n)}`, 1_000);
    let goOn: () => void = () => undefined;
    const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
    let isComing = false;
    const isSecond = (key: string): boolean =>
      key.startsWith(keys.allocations) && cell.outcomes().length > 0 && cell.cell.get(key) === undefined;
    await cell.scheduler({ id: 'service-1', kind: 'service' }, (store) =>
      withAttempt(store, async (one) => {
        if (one.writes.some(({ kind, key }) => kind === 'put' && isSecond(key))) {
          isComing = true;
          await mayGoOn;
        }
        return store.attempt(one);
      }),
    );
    const reschedule = { attempts: null, delayMs: 0, delayMaxMs: 0, onHostLost: true };
    const job = makeJob('gang', { type: 'service' }, { count: 2, gang: true, reschedule });
    await cell.submit(job);
    await cell.until(() => cell.running().length === 2, 'the gang');
    const [first, other] = cell.running();
    cell.hosts.get(first?.host ?? '')?.end(first?.id ?? '', 'failed');
    await cell.until(() => isComing, 'the commit of its successor');
    if (way === 'released') cell.hosts.get(other?.host ?? '')?.end(other?.id ?? '', 'failed');
    else await cell.submit(job, 1, 'stop');
    await cell.clock.advance(3_000);
    const stands = (): string | undefined => cell.allocations().find(({ id }) => id === other?.id)?.desired;
    expect(stands()).toBe('run');
    goOn();
    await cell.until(() => stands() !== 'run', 'what became of the other');
    if (way === 'released') await cell.until(() => cell.running().length === 2, 'the whole gang');
    else await cell.until(() => cell.allocations().length === 0, 'the end of both');
    expect(cell.ledgersAreTrue()).toBe(true);
  });
