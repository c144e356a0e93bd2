import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MonitorAddresses } from '../../../src/clients/monitor-failover.ts';
import { DEFAULT_ADDRESS, findCell } from '../../../src/connect/cell-address.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'moorage address-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function writeCell(name: string, pid: number, startedAtMs: number): void {
  const path = join(folder, '.moorage', 'cells', name);
  mkdirSync(path, { recursive: true });
  const file = { cell: name, pid, etcd: [], monitors: [`http://${name}`], startedAtMs };
  writeFileSync(join(path, 'cell.json'), JSON.stringify(file));
}

type Sources = Omit<Parameters<typeof findCell>[0], 'context'>;

function addressesOf({ env, ...sources }: Sources): MonitorAddresses {
  const own = { ...env, MOORAGE_CONFIG: join(folder, 'config.json') };
  return findCell({ context: undefined, ...sources, env: own }).addresses;
}

/** No process has this pid: Linux stops at 2^22. */
const DEAD_PID = 2 ** 22 + 1;

test('the option wins over the environment, that over the running cell, that over the default', () => {
  const none = { option: [], env: {}, cwd: folder };
  expect(addressesOf(none).urls).toEqual([DEFAULT_ADDRESS]);
  writeCell('dev', process.pid, 1);
  expect(addressesOf({ ...none, cwd: join(folder, 'a', 'b') }).urls).toEqual(['http://dev']);
  const env = { MOORAGE_ADDR: 'http://a:1/, b:2' };
  expect(addressesOf({ ...none, env }).urls).toEqual(['http://a:1', 'http://b:2']);
  expect(addressesOf({ ...none, env, option: ['c:3,d:4', 'e:5'] }).urls).toEqual([
    'http://c:3',
    'http://d:4',
    'http://e:5',
  ]);
});

test('of several cells the latest that runs', () => {
  writeCell('old', process.pid, 1);
  writeCell('new', process.pid, 2);
  writeCell('dead', DEAD_PID, 3);
  expect(addressesOf({ option: [], env: {}, cwd: folder }).urls).toEqual(['http://new']);
});

test('what is no address is a usage error', () => {
  expect(() => addressesOf({ option: ['http://a b'], env: {}, cwd: folder })).toThrow(/is no address/);
});

describe('saved contexts', () => {
  const config = () => join(folder, 'config.json');
  function save(current: string | null, mode = 0o600): void {
    const prod = {
      addresses: ['https://p1', 'https://p2'],
      namespace: 'team',
      token: 't',
      authorities: 'ca',
    };
    const contexts = { prod, lab: { addresses: ['https://l1'] } };
    writeFileSync(config(), JSON.stringify({ v: 1, current, contexts }), { mode });
  }
  const find = (more: Partial<Parameters<typeof findCell>[0]> = {}) =>
    findCell({
      ...{ option: [], context: undefined, cwd: folder },
      ...more,
      env: { MOORAGE_CONFIG: config(), ...more.env },
    });

  test('the named one wins over the development cell of the folder, that over the current one', () => {
    save('prod');
    expect(find().addresses.urls).toEqual(['https://p1', 'https://p2']);
    expect(find().context?.namespace).toBe('team');
    writeCell('dev', process.pid, 1);
    expect(find()).toMatchObject({ addresses: { urls: ['http://dev'] }, context: null });
    expect(find({ context: 'lab' }).addresses.urls).toEqual(['https://l1']);
    expect(find({ env: { MOORAGE_CONTEXT: 'prod' } }).addresses.urls).toEqual(['https://p1', 'https://p2']);
    expect(() => find({ context: 'none' })).toThrow('there is no context none');
  });

  test('a token is for the addresses that it was saved with, and for no other', () => {
    save('prod');
    expect(find({ option: ['https://p2'] }).context?.token).toBe('t');
    expect(find({ option: ['https://elsewhere'] }).context).toBeNull();
    expect(find({ option: ['https://p1,https://elsewhere'] }).context).toBeNull();
    expect(find({ env: { MOORAGE_ADDR: 'https://elsewhere' }, context: 'prod' }).context).toBeNull();
  });

  test('a file that others may read, and one that is none, are refused with what to do', () => {
    save('prod', 0o640);
    expect(() => find()).toThrow(`${config()}: it can be read by others`);
    rmSync(config());
    for (const text of [
      '',
      '{}',
      '{"v":2,"current":null,"contexts":{}}',
      '{"v":1,"current":null,"contexts":{"a":{"addresses":[]}}}',
    ]) {
      writeFileSync(config(), text, { mode: 0o600 });
      expect(() => find()).toThrow('it is no file of contexts');
    }
  });
});
