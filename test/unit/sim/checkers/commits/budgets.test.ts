import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { BudgetPolicy } from '../../../../../src/core/quota/budgets.ts';
import { SURPLUS_PRECEDENCE } from '../../../../../src/core/cell/claim.ts';
import { USE_MS } from '../../../../../src/core/quota/token-bucket.ts';
import { CAUSES } from '../../../../../src/core/slots/job-view.ts';
import { bucketCodec, budgetPolicyCodec } from '../../../../../src/wire/budgets/budget-records.ts';
import { allocationCodec, eligibilityCodec } from '../../../../../src/wire/records/records.ts';
import { WALL_START_MS } from '../../../../../sim/agenda/virtual-clock.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

const TOKEN_MS = 6_000;
const RULE = { burst: 2, perHour: 600 };
let run: HandRun;
let placed: readonly Allocation[];
beforeEach(() => {
  run = new HandRun();
  const policy = { replacements: RULE, moves: RULE, evictions: RULE };
  run.put('operator', KEYS.budgets, budgetPolicyCodec.encode(policy), 'none');
  const job = run.job('web', { count: 4 });
  run.submit(job);
  placed = [0, 1, 2, 3].map((index) => run.allocation(job, { id: `a${String(index)}`, index }));
  run.commit(true, ...placed);
  run.nowMs += 20_000;
});

const broken = (): boolean => run.broken({ liveness: null, least: {} }).includes('I76');

/** @param tokens as if so many were drawn now of what is there; a full bucket by default */
function drawn(kind: string, tokens: number, fullAtMs = WALL_START_MS + run.nowMs, by = 'batch-1'): void {
  const value = bucketCodec.encode({ fullAtMs: fullAtMs + tokens * TOKEN_MS });
  run.put(by, KEYS.bucket(kind), value, 'same');
}

function stopped(at: number, cause: string, changes: Partial<Allocation> = {}): void {
  const one = placed[at];
  if (one === undefined) throw new Error('there are four');
  const { namespace, job, id } = one;
  const value = allocationCodec.encode({ ...one, desired: 'stop', cause, ...changes });
  run.put('batch-1', KEYS.allocation(namespace, job, id), value, 'same');
}

function verdict(more: object): void {
  const record = { state: 'lost', reason: '', by: 'ada', sinceMs: 1, counter: 1, ...more } as const;
  run.put('monitor-1', KEYS.eligibilityOf('host-1'), eligibilityCodec.encode(record), 'none');
}

describe('I76 what the cell does of its own accord', () => {
  it.each([
    ['replacements', CAUSES.hostLost],
    ['moves', CAUSES.draining],
    ['moves', CAUSES.notMatching],
    ['moves', `${CAUSES.moved} by ada`],
  ])('uses a token of %s each to be "%s"', (kind, cause) => {
    drawn(kind, 2);
    stopped(0, cause);
    stopped(1, cause);
    expect(broken()).toBe(false);
    stopped(2, cause);
    expect(broken()).toBe(true);
  });

  it('uses one for each victim that is no surplus', () => {
    drawn('evictions', 1);
    stopped(0, `${CAUSES.evicted} high`, { desired: 'evict' });
    stopped(1, `${CAUSES.evicted} high`, { desired: 'evict', precedence: SURPLUS_PRECEDENCE });
    expect(broken()).toBe(false);
    stopped(2, `${CAUSES.evicted} high`, { desired: 'evict' });
    expect(broken()).toBe(true);
  });

  it('uses its own tokens, and in time', () => {
    drawn('moves', 1, undefined, 'service-1');
    stopped(0, CAUSES.draining);
    expect(broken()).toBe(true);
  });

  it('does not use what it drew long ago', () => {
    drawn('moves', 1);
    run.nowMs += USE_MS + 1;
    stopped(0, CAUSES.draining);
    expect(broken()).toBe(true);
  });

  it('needs none for what an operator says himself, nor for what a user does', () => {
    verdict({ confirmed: 'lost' });
    stopped(0, CAUSES.hostLost);
    verdict({ state: 'draining', drainDeadlineMs: WALL_START_MS + run.nowMs });
    stopped(1, CAUSES.draining);
    stopped(2, CAUSES.user);
    stopped(3, `${CAUSES.version} 2`);
    expect(broken()).toBe(false);
  });

  it('draws no more than there is, and gives nothing back', () => {
    const fullAtMs = WALL_START_MS + run.nowMs + 2 * TOKEN_MS;
    drawn('moves', 2);
    run.nowMs += TOKEN_MS;
    drawn('moves', 1, fullAtMs);
    expect(broken()).toBe(false);
    drawn('moves', 2, fullAtMs);
    expect(broken()).toBe(true);
  });

  it('draws of what others have left', () => {
    drawn('moves', 2);
    drawn('moves', 1);
    expect(broken()).toBe(true);
  });

  it('lets a bucket that is full be deleted, and no other', () => {
    drawn('moves', 1);
    run.nowMs += TOKEN_MS;
    run.drop('monitor-1', KEYS.bucket('moves'));
    expect(broken()).toBe(false);
    drawn('moves', 1);
    run.drop('monitor-1', KEYS.bucket('moves'));
    expect(broken()).toBe(true);
  });
});

describe('I76 in a failure domain', () => {
  const PER = { attribute: 'rack', burst: 1, perHour: 600 };

  function allow(policy: BudgetPolicy): void {
    run.put('operator', KEYS.budgets, budgetPolicyCodec.encode(policy), 'same');
    run.nowMs += 20_000;
  }

  it('needs a token of the cell and one of the rack of the host that is left', () => {
    allow({ moves: { ...RULE, per: PER } });
    drawn('moves', 2);
    drawn('moves/rack/', 1);
    stopped(0, CAUSES.draining);
    expect(broken()).toBe(false);
    stopped(1, CAUSES.draining);
    expect(broken()).toBe(true);
  });

  it('needs none of the cell where that has no bound, and none of another rack counts', () => {
    allow({ moves: { per: PER } });
    drawn('moves/rack/', 1);
    stopped(0, CAUSES.draining);
    expect(broken()).toBe(false);
    drawn('moves/rack/r1', 1);
    stopped(1, CAUSES.draining);
    expect(broken()).toBe(true);
  });

  it('is that of the label that an operator gave, and that of before for as long as that may not be known', () => {
    allow({ moves: { per: PER } });
    verdict({ state: 'draining', labels: { rack: 'r1' } });
    drawn('moves/rack/', 1);
    stopped(0, CAUSES.draining);
    run.nowMs += 20_000;
    drawn('moves/rack/r1', 1);
    stopped(1, CAUSES.draining);
    expect(broken()).toBe(false);
    drawn('moves/rack/', 1);
    stopped(2, CAUSES.draining);
    expect(broken()).toBe(true);
  });

  it('is counted, whatever the buckets say', () => {
    allow({ moves: { per: { ...PER, perHour: 60 } } });
    // Ten tokens each, it seems.
    drawn('moves/rack/', 10);
    drawn('moves/rack/', 10);
    stopped(0, CAUSES.draining);
    const texts = (): string[] =>
      run.check({ liveness: null, least: {} }).violations.map(({ detail }) => detail);
    expect(texts().join('\n')).not.toContain('did number');
    stopped(1, CAUSES.draining);
    expect(texts().join('\n')).toContain('did number 2 of moves/rack/, more than 1 at once and 60 an hour');
  });
});
