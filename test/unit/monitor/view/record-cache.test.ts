import { describe, expect, it } from 'vitest';
import { RecordCache } from '../../../../monitor/view/record-cache.ts';

function cacheOf() {
  const seen = { decoded: 0, bad: [] as string[], changes: 0 };
  const cache = new RecordCache<string>({
    name: 'jobs',
    prefix: 'jobs/',
    lazy: true,
    decode: (text) => {
      seen.decoded += 1;
      if (text.startsWith('bad')) throw new Error(text);
      return text.toUpperCase();
    },
    onBadRecord: (key) => seen.bad.push(key),
    onChange: () => (seen.changes += 1),
  });
  const put = (name: string, value: string, modRevision: number): void =>
    cache.put({ key: `jobs/${name}`, value, createRevision: 1, modRevision }, modRevision, 0);
  return { cache, seen, put };
}

describe('a cache that decodes late', () => {
  it('reads a record once, and only when it is asked for', () => {
    const { cache, seen, put } = cacheOf();
    put('a', 'one', 1);
    put('b', 'two', 2);
    expect([...cache.names()]).toEqual(['a', 'b']);
    expect(cache.has('a')).toBe(true);
    expect(seen).toMatchObject({ decoded: 0, changes: 2 });
    expect(cache.get('a')?.value).toBe('ONE');
    expect(cache.get('a')?.value).toBe('ONE');
    expect(seen.decoded).toBe(1);
    expect([...cache.rows()].map(([name, { value }]) => [name, value])).toEqual([
      ['a', 'ONE'],
      ['b', 'TWO'],
    ]);
  });

  it('keeps the last good value of a record that cannot be read', () => {
    const { cache, seen, put } = cacheOf();
    put('a', 'one', 1);
    expect(cache.get('a')?.value).toBe('ONE');
    put('a', 'bad', 2);
    put('a', 'bad again', 3);
    expect(cache.get('a')).toMatchObject({ value: 'ONE', modRevision: 1 });
    expect(seen.bad).toEqual(['jobs/a']);
    put('a', 'two', 4);
    expect(cache.get('a')?.value).toBe('TWO');
  });

  it('tells what cannot be read until it can, or is gone', () => {
    const { cache, put } = cacheOf();
    const told = () => [...cache.unreadable()];
    for (const name of ['a', 'b', 'c']) put(name, `bad ${name}`, 1);
    expect(told()).toEqual([]);
    expect([...cache.rows()]).toEqual([]);
    expect(told().sort()).toEqual(['a', 'b', 'c'].map((name) => [`jobs/${name}`, `bad ${name}`]));
    put('a', 'one', 2);
    cache.delete('jobs/b', 3, 0);
    expect(told()).toEqual([['jobs/c', 'bad c']]);
    cache.keepOnly(new Set(['jobs/a']), 4, 0);
    expect(told()).toEqual([]);
  });

  it('leaves out a record that could never be read', () => {
    const { cache, seen, put } = cacheOf();
    put('a', 'bad', 1);
    expect([...cache.rows()]).toEqual([]);
    expect(cache.get('a')).toBeUndefined();
    expect(seen.bad).toEqual(['jobs/a']);
  });
});
