import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bounded } from '../../../../src/adapters/telemetry/bounded.ts';

const BYTES_MAX = 1_900;

it('what is short stays as it is', () => {
  const fields = { host: 'a', error: { message: 'x'.repeat(900) } };
  expect(bounded(fields, 'told')).toEqual({ fields, message: 'told' });
});

it('a long field is cut, and the others stay', () => {
  const { fields } = bounded(
    { host: 'a', list: Array.from({ length: 5_000 }, (_, n) => n), ok: true },
    'told',
  );
  expect(fields).toMatchObject({ host: 'a', ok: true });
  expect(String(fields['list'])).toMatch(/^\[0,1,2,.*…$/);
});

it('I65 whatever is logged, a line has its bound', () => {
  const text = fc.string({ unit: 'binary', maxLength: 600 });
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
        fc.oneof(text, fc.array(text, { maxLength: 4 })),
      ),
      text,
      (fields, message) => {
        expect(Buffer.byteLength(JSON.stringify(bounded(fields, message)))).toBeLessThan(BYTES_MAX);
      },
    ),
    { numRuns: 50 },
  );
});
