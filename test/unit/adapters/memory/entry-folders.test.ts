import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EntryFolders } from '../../../../src/adapters/memory/entry-folders.ts';

const part = fc.constantFrom('a', 'b', 'ab');
const keys = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join('/')}`);

it('lists, and knows what is empty, as one sorted list does', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(keys, fc.boolean()), { maxLength: 40 }), (steps) => {
      const folders = new EntryFolders();
      const model = new Set<string>();
      for (const [key, isPut] of steps) {
        if (isPut) {
          folders.set({ key, value: '', createRevision: 1, modRevision: 1 });
          model.add(key);
        } else expect(folders.delete(key)).toBe(model.delete(key));
      }
      const prefixes = new Set(steps.flatMap(([key]) => [key, key.slice(0, 2), `${key}/`, '/']));
      for (const prefix of prefixes) {
        const under = [...model].filter((key) => key.startsWith(prefix)).sort();
        expect(folders.list(prefix).map(({ key }) => key)).toEqual(under);
        if (prefix.endsWith('/')) expect(folders.isEmpty(prefix)).toBe(under.length === 0);
      }
      for (const [key] of steps) expect(folders.get(key)?.key).toBe(model.has(key) ? key : undefined);
    }),
  );
});
