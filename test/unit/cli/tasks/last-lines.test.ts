import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LastLines } from '../../../../cli/tasks/last-lines.ts';

it('28 keeps the last lines, however the text was cut into chunks', () => {
  const chunks = fc.array(fc.string({ unit: fc.constantFrom('a', '\n') }), { maxLength: 12 });
  fc.assert(
    fc.property(chunks, fc.nat({ max: 5 }), (texts, wanted) => {
      const last = new LastLines(wanted);
      for (const text of texts) last.push(Buffer.from(text));
      const lines = texts.join('').match(/[^\n]*\n|[^\n]+$/g) ?? [];
      expect(Buffer.from(last.bytes).toString()).toBe(wanted === 0 ? '' : lines.slice(-wanted).join(''));
    }),
  );
});
