import { beforeEach, describe, expect, it } from 'vitest';
import type { StoredJob } from '../../../../schedulers/state/stored-job.ts';
import { NOTHING_STORED } from '../../../../schedulers/state/stored-job.ts';
import { OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import type { Term } from '../../../../schedulers/state/state.ts';
import { UnrecordedAllocations } from '../../../../schedulers/repair/unrecorded.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import type { Allocation, Outcome } from '../../../../src/core/cell/allocation.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { EMPTY_LEDGER } from '../../../../src/core/fit/ledger.ts';
import type { ConflictReason, Plan } from '../../../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import type { LiveAllocation } from '../../../../src/core/slots/job-view.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { HttpError } from '../../../../src/ports/http.ts';
import type { StopRequest } from '../../../../src/wire/api/host-api.ts';
import { allocationCodec, outcomeCodec, ownerCodec } from '../../../../src/wire/records/records.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { amounts, makeHost } from '../../core/placement/placement-fixtures.ts';
import { makeJob } from '../cell-world.ts';

const keys = cellKeys('test');
const SLOT = { namespace: 'default', job: 'web', jobVersion: 1, group: 'web', scheduler: 'batch-0' } as const;

function reportOf(id: string, part: Partial<AllocationReport> = {}): AllocationReport {
  return {
    ...{ id, host: 'h1', precedence: 50, resources: amounts(100, 64), gpus: [], ports: {} },
    ...{ ...SLOT, index: 0, attempt: 1, state: 'running', released: false, reason: 'running' },
    ...{ restarts: 0, startedAtMs: 7, tasks: {}, ...part },
  };
}

function allocationOf(id: string, part: Partial<Allocation> = {}): Allocation {
  return {
    ...{ id, host: 'h1', precedence: 50, resources: amounts(100, 64), gpus: [], ports: {} },
    ...{ ...SLOT, index: 0, attempt: 1, desired: 'run', planId: 'p', createdAtMs: 7 },
    ...{ epoch: { incarnation: 'before', counter: 0 }, ...part },
  };
}

const ENDED = { state: 'complete', released: true, reason: 'complete', exit: { code: 0 } } as const;

/** One job after a restore, what hosts say of it, and what came of it. */
class Restored {
  readonly clock = new ManualClock();
  readonly store = new MemoryCellStore({ clock: this.clock });
  /** What the view shows, which may be old. */
  readonly seen: AllocationReport[] = [];
  /** The monitor said what the view shows of the job. */
  isLearnt = true;
  /** What the hosts answer when they are asked: a report, null for nothing, an error for silence. */
  readonly answers = new Map<string, AllocationReport | null | HttpError>();
  readonly asked: string[] = [];
  readonly plans: Plan[] = [];
  /** What has no room for its claim any more. */
  readonly crowdedOut = new Set<string>();
  /** What the commit says of those. */
  why: ConflictReason = { reason: 'no-fit', short: { dimension: 'cpu', needed: 100, available: 0 } };
  readonly stopped: { readonly id: string; readonly request: StopRequest }[] = [];
  lost = new Set<string>();
  /** Owned from `own` on. */
  job = new OwnedJob({ job: makeJob('web'), version: 1, desired: 'run', submittedAtMs: 1 }, 1, 0);

  async own(): Promise<void> {
    const key = keys.owner('default', 'web');
    const value = ownerCodec.encode({ scheduler: 'batch-1', kind: 'batch', sinceMs: 1 });
    const reply = await this.store.attempt({
      ...{ compares: [], readBack: [] },
      writes: [{ kind: 'put', key, value }],
    });
    if (reply.outcome !== 'applied') throw new Error('not owned');
    this.job = new OwnedJob(this.job.record, 1, reply.revision);
  }

  /** The host says so now, and said so when it reported last. */
  says(report: AllocationReport): void {
    this.seen.push(report);
    this.answers.set(report.id, report);
  }

  /** An operator stopped the job. */
  stop(): void {
    this.job.record = { ...this.job.record, desired: 'stop' };
  }

  takeUp(part: Partial<StoredJob> = {}): Promise<readonly LiveAllocation[] | null> {
    const stored: StoredJob = {
      ...NOTHING_STORED,
      ...part,
    };
    return this.#unrecorded().takeUp(this.job, stored);
  }

  tryAgain(): Promise<boolean> {
    return this.#unrecorded().tryAgain(this.job);
  }

  #unrecorded(): UnrecordedAllocations {
    return new UnrecordedAllocations(this.#term(), {
      learn: () => Promise.resolve(this.isLearnt),
      ofJob: () => this.seen,
    });
  }

  outcomes(): Promise<readonly string[]> {
    const prefix = keys.outcome('default', 'web', '');
    return this.store
      .list(prefix)
      .then(({ entries }) => [...entries.keys()].map((key) => key.slice(prefix.length)));
  }

  #term(): Term {
    const get = (_address: string, id: string): Promise<AllocationReport | null> => {
      this.asked.push(id);
      const answer = this.answers.get(id) ?? null;
      return answer instanceof HttpError ? Promise.reject(answer) : Promise.resolve(answer);
    };
    return {
      signal: new AbortController().signal,
      world: { clock: this.clock, store: this.store, keys, random: seededRandom(1) },
      options: { id: 'batch-1' },
      incarnation: 'now',
      cell: {
        state: { hostOf: (id: string) => makeHost(id) },
        condition: (host: string) => ({ state: this.lost.has(host) ? 'lost' : 'ready' }),
        book: { get: () => ({ ledger: { ...EMPTY_LEDGER, counter: 3 } }) },
      },
      hosts: {
        get,
        stop: (_address: string, id: string, request: StopRequest) => {
          this.stopped.push({ id, request });
          return Promise.resolve({ kind: 'unknown' });
        },
      },
      hostCalls: {
        askFirst: <T>(host: string, _isWanted: () => boolean, make: (address: string) => Promise<T>) =>
          make(host),
        order: <T>(host: string, isWanted: () => boolean, make: (address: string) => Promise<T>) =>
          isWanted() ? make(host) : Promise.resolve(undefined),
      },
      commit: (plan: Plan) => {
        this.plans.push(plan);
        const lost = plan.places.filter(({ id }) => this.crowdedOut.has(id));
        return Promise.resolve(new Map(lost.map(({ id }) => [id, { kind: 'conflicted', why: this.why }])));
      },
    } as unknown as Term;
  }
}

let cell: Restored;
beforeEach(async () => {
  cell = new Restored();
  await cell.own();
});

const placed = () => cell.plans.flatMap(({ places }) => places);
const released = () => cell.plans.flatMap(({ releases }) => releases);
const row = (allocation: Allocation, revision = 9) => ({ allocation, revision });

describe('what hosts know of a job and a restored store does not', () => {
  it('I53 is nothing where the store knows all of it: no host is asked', async () => {
    cell.says(reportOf('a'));
    expect(await cell.takeUp({ allocations: [row(allocationOf('a'))] })).toEqual([]);
    expect(cell.asked).toEqual([]);
  });

  it('I53 comes back under its own id with its claim, by the epoch of now', async () => {
    cell.says(reportOf('a', { ports: { http: 20_000 } }));
    expect(await cell.takeUp()).toBeNull();
    expect(placed()).toMatchObject([
      {
        ...{ id: 'a', host: 'h1', desired: 'run', ports: { http: 20_000 }, scheduler: 'batch-1' },
        epoch: { incarnation: 'now', counter: 3 },
      },
    ]);
  });

  it('I54 leaves its outcome when it has ended, and is not begun again', async () => {
    cell.says(reportOf('a', ENDED));
    expect(await cell.takeUp()).toBeNull();
    expect(await cell.outcomes()).toEqual(['a']);
    expect(placed()).toEqual([]);
  });

  it('I54 leaves none when a later attempt of its slot has one already: it was dropped as surplus', async () => {
    cell.says(reportOf('a', ENDED));
    const later = { group: 'web', index: 0, attempt: 2, allocation: 'b' } as Outcome;
    expect(await cell.takeUp({ outcomes: [later] })).toEqual([]);
    expect(await cell.outcomes()).toEqual([]);
  });

  it('is what the host answers now, not what it reported last', async () => {
    cell.says(reportOf('a'));
    cell.answers.set('a', reportOf('a', ENDED));
    await cell.takeUp();
    expect(placed()).toEqual([]);
    expect(await cell.outcomes()).toEqual(['a']);
  });

  it('is asked for again while its host does not answer, and nothing is decided meanwhile', async () => {
    cell.says(reportOf('a'));
    cell.answers.set('a', new HttpError('no answer in time', { sent: true }));
    expect(await cell.takeUp()).toBeNull();
    expect(cell.plans).toEqual([]);
  });

  it('I53 is waited for while no monitor can say what hosts report of the job', async () => {
    cell.isLearnt = false;
    let answer: readonly LiveAllocation[] | null | undefined;
    void cell.takeUp().then((now) => (answer = now));
    await cell.clock.advance(10_000);
    expect(answer).toBeUndefined();
    cell.isLearnt = true;
    await cell.clock.advance(1_000);
    // What had been read of the job is old by now.
    expect(answer).toBeNull();
    expect(await cell.takeUp()).toEqual([]);
    expect(cell.asked).toEqual([]);
  });

  it('is not waited for on a host that counts as lost', async () => {
    cell.says(reportOf('a'));
    cell.lost.add('h1');
    expect(await cell.takeUp()).toEqual([]);
    expect(cell.plans).toEqual([]);
  });

  it('comes back to be stopped when its slot was filled meanwhile', async () => {
    cell.says(reportOf('a'));
    await cell.takeUp({ allocations: [row(allocationOf('b', { attempt: 1, host: 'h2' }))] });
    expect(placed()).toMatchObject([{ id: 'a', desired: 'stop' }]);
  });

  it('I12 of two in one slot only the newer one runs on', async () => {
    cell.says(reportOf('a', { attempt: 1 }));
    cell.says(reportOf('b', { attempt: 2, host: 'h2' }));
    await cell.takeUp();
    expect(placed().map(({ id, desired }) => [id, desired])).toEqual([
      ['a', 'stop'],
      ['b', 'run'],
    ]);
  });
});

describe('what hosts know of, and has no room for its record any more', () => {
  beforeEach(() => {
    cell.says(reportOf('a'));
    cell.crowdedOut.add('a');
  });

  it('I53 waits for its capacity, and is not stopped meanwhile', async () => {
    expect(await cell.takeUp()).toMatchObject([
      { allocation: { id: 'a', desired: 'run' }, report: { id: 'a' } },
    ]);
    expect(placed()).toMatchObject([{ id: 'a' }]);
    expect(cell.stopped).toEqual([]);
  });

  it('is not all that is missing while another comes back, or its host says nothing', async () => {
    cell.says(reportOf('b', { index: 1 }));
    expect(await cell.takeUp()).toBeNull();
    cell.answers.set('b', new HttpError('no answer in time', { sent: true }));
    expect(await cell.takeUp()).toBeNull();
  });

  it('is not known to have no room where its commit met anything else', async () => {
    cell.why = { reason: 'not-owner' };
    expect(await cell.takeUp()).toBeNull();
  });

  it('is tried again, and waits while other claims stay', async () => {
    cell.job.unrecorded = (await cell.takeUp()) ?? [];
    cell.plans.length = 0;
    expect(await cell.tryAgain()).toBe(false);
    expect(placed()).toMatchObject([{ id: 'a', desired: 'run' }]);
    cell.answers.set('a', new HttpError('no answer in time', { sent: true }));
    expect(await cell.tryAgain()).toBe(false);
  });

  it.each([
    ['they have gone', () => cell.crowdedOut.clear()],
    ['it has ended', () => cell.answers.set('a', reportOf('a', ENDED))],
    ['its host has forgotten it', () => cell.answers.set('a', null)],
    ['its host is lost', () => cell.lost.add('h1')],
  ])('waits no more when %s', async (_, meanwhile) => {
    cell.job.unrecorded = (await cell.takeUp()) ?? [];
    meanwhile();
    expect(await cell.tryAgain()).toBe(true);
  });

  it('I55 is ordered to stop when its job is to stop, under the present epoch', async () => {
    cell.stop();
    expect(await cell.takeUp()).toHaveLength(1);
    expect(cell.stopped).toMatchObject([
      { id: 'a', request: { commandId: 'a-stop', mode: 'stop', epoch: { incarnation: 'now', counter: 3 } } },
    ]);
  });

  it('I12 is ordered to stop, again and again, when its slot was filled meanwhile', async () => {
    const other = row(allocationOf('b', { attempt: 1, host: 'h2' }));
    cell.answers.set('b', reportOf('b', { host: 'h2' }));
    cell.job.unrecorded = (await cell.takeUp({ allocations: [other] })) ?? [];
    expect(cell.job.unrecorded).toMatchObject([{ allocation: { id: 'a', desired: 'stop' } }]);
    expect(await cell.tryAgain()).toBe(false);
    const order = {
      id: 'a',
      request: { commandId: 'a-stop', cause: 'its slot was filled again before its host reported' },
    };
    expect(cell.stopped).toMatchObject([order, order]);
    cell.answers.set('a', reportOf('a', { ...ENDED, state: 'killed', exit: { signal: 'SIGTERM' } }));
    expect(await cell.tryAgain()).toBe(true);
    expect(await cell.takeUp({ allocations: [other] })).toBeNull();
    const key = keys.outcome('default', 'web', 'a');
    const outcome = (await cell.store.read([key])).entries.get(key);
    expect(outcomeCodec.decode(outcome?.value ?? '').cause).toContain('filled again');
  });

  it('is not ordered to stop when its record is back: the record says so first', async () => {
    cell.stop();
    cell.crowdedOut.clear();
    expect(await cell.takeUp()).toBeNull();
    expect(cell.stopped).toEqual([]);
  });

  it('I55 leaves an outcome that says who ended it', async () => {
    cell.stop();
    cell.answers.set('a', reportOf('a', { ...ENDED, state: 'killed', exit: { signal: 'SIGTERM' } }));
    expect(await cell.takeUp()).toBeNull();
    const key = keys.outcome('default', 'web', 'a');
    const outcome = (await cell.store.read([key])).entries.get(key);
    expect(outcomeCodec.decode(outcome?.value ?? '')).toMatchObject({
      state: 'killed',
      cause: 'stopped by user',
    });
  });
});

describe('what a restored store shows, and is over', () => {
  const successor = reportOf('b', { attempt: 2, host: 'h2' });

  it('is released with its outcome before its successor comes back: it may hold the very room', async () => {
    cell.says(successor);
    cell.answers.set('a', reportOf('a', ENDED));
    await cell.takeUp({ allocations: [row(allocationOf('a'))] });
    expect(released()).toMatchObject([
      { allocation: { id: 'a' }, revision: 9, outcome: { state: 'complete' } },
    ]);
    expect(placed()).toEqual([]);
  });

  it('is released as killed when its host has forgotten it and a later attempt runs', async () => {
    cell.says(successor);
    await cell.takeUp({ allocations: [row(allocationOf('a'))] });
    expect(released()).toMatchObject([{ allocation: { id: 'a' }, outcome: { state: 'killed' } }]);
  });

  it('is stopped by an explicit order when it still runs beside a later attempt', async () => {
    cell.says(successor);
    cell.answers.set('a', reportOf('a'));
    const key = keys.allocation('default', 'web', 'a');
    const value = allocationCodec.encode(allocationOf('a'));
    const put = await cell.store.attempt({
      ...{ compares: [], readBack: [] },
      writes: [{ kind: 'put', key, value }],
    });
    if (put.outcome !== 'applied') throw new Error('not written');
    await cell.takeUp({ allocations: [row(allocationOf('a'), put.revision)] });
    const now = (await cell.store.read([key])).entries.get(key);
    expect(allocationCodec.decode(now?.value ?? '')).toMatchObject({ id: 'a', desired: 'stop' });
    expect(placed()).toEqual([]);
  });

  it('is left alone while its host says nothing of it: absence is no order', async () => {
    cell.says(successor);
    cell.answers.set('a', new HttpError('no answer in time', { sent: true }));
    await cell.takeUp({ allocations: [row(allocationOf('a'))] });
    expect(released()).toEqual([]);
  });
});
