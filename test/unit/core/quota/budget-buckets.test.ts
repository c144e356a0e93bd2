import { describe, expect, it } from 'vitest';
import { labelled } from '../../../../src/core/host/attributes.ts';
import type { Host } from '../../../../src/core/host/host.ts';
import {
  amountsOf,
  bucketNamed,
  bucketsFor,
  domainText,
  ruleOf,
} from '../../../../src/core/quota/budget-buckets.ts';
import type { BudgetPolicy } from '../../../../src/core/quota/budgets.ts';
import { makeHost } from '../placement/placement-fixtures.ts';

const CELL = { burst: 200, perHour: 2_000 };
const PER = { attribute: 'rack', burst: 20, perHour: 100 };
const POLICY: BudgetPolicy = { moves: { ...CELL, per: PER }, evictions: { per: PER }, orphans: CELL };

const namesFor = (kind: keyof BudgetPolicy, host?: Host): readonly string[] =>
  bucketsFor(POLICY, kind, () => host).map(({ name }) => name);

describe('S3.40 the buckets of which something needs a token', () => {
  const host = makeHost('h1', { attributes: { rack: 'r1' } });

  it('are those of the cell and of its failure domain, as far as they are bounded', () => {
    expect(namesFor('moves', host)).toEqual(['moves', 'moves/rack/r1']);
    expect(namesFor('evictions', host)).toEqual(['evictions/rack/r1']);
    expect(namesFor('orphans', host)).toEqual(['orphans']);
    expect(namesFor('replacements', host)).toEqual([]);
  });

  it('go by the label that an operator gave, and one holds all hosts without the attribute', () => {
    expect(namesFor('evictions', labelled(host, { rack: 'r2/b' }))).toEqual(['evictions/rack/r2/b']);
    expect(namesFor('evictions', makeHost('h2'))).toEqual(['evictions/rack/']);
    expect(namesFor('evictions')).toEqual(['evictions/rack/']);
  });

  it('are told apart by their names', () => {
    for (const name of ['moves', 'moves/rack/r1', 'moves/rack/r2/b', 'moves/rack/'])
      expect(bucketNamed(name)?.name).toBe(name);
    expect(bucketNamed('moves/rack/r2/b')?.domain).toEqual({ attribute: 'rack', value: 'r2/b' });
    expect(['lost', 'moves/rack', ''].map(bucketNamed)).toEqual([null, null, null]);
  });

  it('have the rule that holds now; of another attribute they have none', () => {
    const ruleNamed = (name: string, policy = POLICY) => {
      const bucket = bucketNamed(name);
      return bucket === null ? null : ruleOf(policy, bucket);
    };
    expect(ruleNamed('moves')).toEqual(CELL);
    expect(ruleNamed('moves/rack/r1')).toEqual(PER);
    expect(ruleNamed('moves/rack/r1', { moves: { per: { ...PER, attribute: 'host.rack' } } })).not.toBeNull();
    expect(ruleNamed('moves/zone/r1')).toBeNull();
    expect(ruleNamed('evictions')).toBeNull();
  });

  it('are counted for several that leave', () => {
    const other = makeHost('h2', { attributes: { rack: 'r2' } });
    const each = [host, other, other].map((one) => bucketsFor(POLICY, 'moves', () => one));
    expect(amountsOf(each).map(({ bucket, tokens }) => [bucket.name, tokens])).toEqual([
      ['moves', 3],
      ['moves/rack/r1', 1],
      ['moves/rack/r2', 2],
    ]);
  });

  it('are called by what people call the domain', () => {
    const texts = [
      { attribute: 'rack', value: 'r1' },
      { attribute: 'rack', value: '' },
      { attribute: 'id', value: 'h1' },
    ].map(domainText);
    expect(texts).toEqual(['rack r1', 'hosts without rack', 'host h1']);
  });
});
