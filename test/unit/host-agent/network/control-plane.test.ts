import { describe, expect, it } from 'vitest';
import { ControlPlane } from '../../../../host-agent/network/control-plane.ts';
import type { Endpoint } from '../../../../host-agent/network/ruleset.ts';
import { elementsText, rulesText } from '../../../../host-agent/network/ruleset.ts';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { hostCodec, roleCodec } from '../../../../src/wire/records/records.ts';
import { HOST_FACTS } from '../../../support/host-world.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const keys = cellKeys('test');
const names = {
  resolve: (host: string) =>
    Promise.resolve(host === 'etcd.example' ? ['10.0.0.1', 'fd00::1'] : host === 'gone' ? [] : [host]),
  own: () => ['127.0.0.1', '10.0.0.9'],
};

function role(id: string, address: string) {
  const record = { kind: 'monitor' as const, id, address, version: '1', policy: '', startedAtMs: 1 };
  return { kind: 'put' as const, key: keys.role('monitor', id), value: roleCodec.encode(record) };
}

describe('where the control plane of a cell is', () => {
  it('I68 is told as it is in the store: roles at once, agents and the store’s members in a while', async () => {
    const clock = new ManualClock();
    const store = new MemoryCellStore({ clock, cell: new MemoryCell({ clock }) });
    const told: (readonly Endpoint[])[] = [];
    const places = (): string[] =>
      (told.at(-1) ?? [])
        .map(({ address, port, local }) => `${address} ${String(port)}${local ? ' here' : ''}`)
        .sort();
    const write = async (...writes: ReturnType<typeof role>[]): Promise<void> => {
      await store.attempt({ compares: [], writes, readBack: [] });
      await clock.advance(1);
    };
    await write(role('m1', 'http://10.0.0.2:7070'));
    const plane = new ControlPlane({
      ...{ store, keys, clock, log: silentLog, names },
      fixed: () => ['etcd.example:2379', 'http://10.0.0.9:8000'],
      members: () => Promise.resolve(['http://10.0.0.1:2380', 'http://gone:2380', 'no address at all']),
      onChange: (endpoints) => told.push(endpoints),
    });
    await clock.advance(1);
    const always = ['10.0.0.1 2379', '10.0.0.1 2380', '10.0.0.9 8000 here', 'fd00::1 2379'];
    expect(places()).toEqual([...always, '10.0.0.2 7070'].sort());
    await write(role('m1', 'https://10.0.0.3'));
    expect(places()).toEqual([...always, '10.0.0.3 443'].sort());
    const host = { ...HOST_FACTS, address: 'http://127.0.0.1:9000', bootId: 'b', incarnation: 1 };
    await write({ kind: 'put', key: keys.host('h'), value: hostCodec.encode(host) }, role('m2', ''));
    expect(places()).not.toContain('127.0.0.1 9000 here');
    await clock.advance(10_000);
    expect(places()).toEqual([...always, '10.0.0.3 443', '127.0.0.1 9000 here'].sort());
    const before = told.length;
    await clock.advance(60_000);
    expect(told).toHaveLength(before);
    plane.close();
    await store.close();
  });

  it('I68 becomes elements of the sets, and none where there is none', () => {
    const endpoints = [
      { address: '127.0.0.1', port: 1, local: true },
      { address: '127.0.0.1', port: 1, local: true },
      { address: 'fd00::1', port: 2, local: false },
    ];
    expect(elementsText('t', endpoints)).toBe(
      [
        ...['flush set inet t v4', 'add element inet t v4 { 127.0.0.1 . 1 }'],
        ...['flush set inet t v6', 'add element inet t v6 { fd00::1 . 2 }'],
        ...['flush set inet t local', 'add element inet t local { 1 }'],
      ].join('\n'),
    );
    expect(elementsText('t', [])).toBe('flush set inet t v4\nflush set inet t v6\nflush set inet t local');
  });

  it('a folder that cannot be told in full is not told, so that nobody takes it for one that is gone', () => {
    const users = [
      { first: 1, count: 1 },
      { first: 10, count: 5 },
    ];
    expect(rulesText('t', '/var/lib/moorage', users)).toContain('comment "/var/lib/moorage"');
    expect(rulesText('t', '/var/lib/moorage', users)).toContain('meta skuid { 1-1, 10-14 } jump tasks');
    for (const folder of [`/${'a'.repeat(200)}`, '/with "quotes"', '/größe'])
      expect(rulesText('t', folder, users)).toContain('comment "a long path"');
  });
});
