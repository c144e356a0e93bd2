import { describe, expect, it } from 'vitest';
import { parseBudgetFile } from '../../../../src/wire/budgets/budget-file.ts';
import { budgetPolicyCodec } from '../../../../src/wire/budgets/budget-records.ts';

const PER = '{ attribute: rack, burst: 20, perHour: 100 }';

describe('S3.40 what an operator says of budgets', () => {
  it('bounds the cell, each failure domain, or both, and is stored as it is', () => {
    const policy = parseBudgetFile(
      `replacements: { burst: 200, perHour: 2000, per: ${PER} }\nmoves: { per: ${PER} }\norphans: { burst: 1, perHour: 1 }\n`,
    );
    const per = { attribute: 'rack', burst: 20, perHour: 100 };
    expect(policy).toEqual({
      replacements: { burst: 200, perHour: 2_000, per },
      moves: { per },
      orphans: { burst: 1, perHour: 1 },
    });
    expect(budgetPolicyCodec.decode(budgetPolicyCodec.encode(policy))).toEqual(policy);
    expect(parseBudgetFile('')).toEqual({});
  });

  it.each([
    ['moves: { burst: 1 }', /moves.*needs both burst and perHour/],
    [`moves: { perHour: 1, per: ${PER} }`, /moves.*needs both burst and perHour/],
    ['moves: {}', /moves.*bounds nothing/],
    ['moves: { per: { burst: 1, perHour: 1 } }', /attribute/],
    ['moves: { per: { attribute: a/b, burst: 1, perHour: 1 } }', /attribute.*is no attribute of a host/],
    ['moves: { burst: 1, perHour: 1, par: 1 }', /par/],
    ['move: { burst: 1, perHour: 1 }', /move/],
  ])('is refused as %s', (text, message) => {
    expect(() => parseBudgetFile(text)).toThrow(message);
  });
});
