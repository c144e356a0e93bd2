import { describe, expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import type { Owner } from '../../../../src/core/cell/cell.ts';
import { Table } from '../../../../src/runtime/records/records.ts';
import { ownerCodec } from '../../../../src/wire/records/records.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

const keys = cellKeys('test');
const owner = (scheduler: string): Owner => ({ scheduler, kind: 'service', sinceMs: 1 });

function world() {
  const clock = new ManualClock();
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const far = new MemoryCellStore({ clock, cell });
  const seen: string[] = [];
  const table = new Table(far, keys.owners, ownerCodec, {
    onChange: (name, now, before) =>
      seen.push(`${name}: ${before?.value.scheduler ?? '-'} > ${now?.value.scheduler ?? '-'}`),
    onBadRecord: (error, key) => seen.push(`bad ${key}: ${error.kind}`),
  });
  const write = async (job: string, value: string | null): Promise<void> => {
    const key = keys.owner('default', job);
    const change =
      value === null ? ({ kind: 'delete', key } as const) : ({ kind: 'put', key, value } as const);
    await store.attempt({ compares: [], writes: [change], readBack: [] });
    await settle();
  };
  return { cell, store, far, seen, table, write };
}

describe('table', () => {
  it('is a live, decoded copy, and tells each change with what was before', async () => {
    const { table, seen, write, cell } = world();
    await table.ready;
    await write('web', ownerCodec.encode(owner('a')));
    await write('web', ownerCodec.encode(owner('b')));
    expect(table.get('default/web')).toMatchObject({ value: owner('b'), createRevision: 2, modRevision: 3 });
    expect(table.revision).toBe(cell.revision);
    await write('web', null);
    expect(seen).toEqual(['default/web: - > a', 'default/web: a > b', 'default/web: b > -']);
    expect([table.size, [...table.rows()]]).toEqual([0, []]);
  });

  it('tells after a gap only what is different', async () => {
    const { table, seen, write, far } = world();
    await table.ready;
    for (const job of ['stays', 'goes', 'changes']) await write(job, ownerCodec.encode(owner('a')));
    seen.length = 0;
    far.cutOff();
    await write('goes', null);
    await write('changes', ownerCodec.encode(owner('b')));
    await write('comes', ownerCodec.encode(owner('c')));
    expect(seen).toEqual([]);
    far.reconnect();
    await settle();
    expect(seen).toEqual(['default/goes: a > -', 'default/changes: a > b', 'default/comes: - > c']);
  });

  it('keeps the last good value of a record that cannot be read, and says so', async () => {
    const { table, seen, write } = world();
    await table.ready;
    await write('web', ownerCodec.encode(owner('a')));
    await write('web', 'garbage');
    await write('new', '{"v":9}');
    expect(table.get('default/web')?.value).toEqual(owner('a'));
    expect(table.size).toBe(1);
    expect(seen.slice(1)).toEqual([
      `bad ${keys.owner('default', 'web')}: owner`,
      `bad ${keys.owner('default', 'new')}: owner`,
    ]);
  });

  it('hears nothing more once closed', async () => {
    const { table, seen, write } = world();
    await table.ready;
    table.close();
    await write('web', ownerCodec.encode(owner('a')));
    expect(seen).toEqual([]);
  });
});
