import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULT_ADDRESS, monitorAddresses } from '../../../../cli/command/cell-address.ts';

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

/** No process has this pid: Linux stops at 2^22. */
const DEAD_PID = 2 ** 22 + 1;

test('the option wins over the environment, that over the running cell, that over the default', () => {
  const none = { option: [], env: {}, cwd: folder };
  expect(monitorAddresses(none).urls).toEqual([DEFAULT_ADDRESS]);
  writeCell('dev', process.pid, 1);
  expect(monitorAddresses({ ...none, cwd: join(folder, 'a', 'b') }).urls).toEqual(['http://dev']);
  const env = { MOORAGE_ADDR: 'http://a:1/, b:2' };
  expect(monitorAddresses({ ...none, env }).urls).toEqual(['http://a:1', 'http://b:2']);
  expect(monitorAddresses({ ...none, env, option: ['c:3,d:4', 'e:5'] }).urls).toEqual([
    'http://c:3',
    'http://d:4',
    'http://e:5',
  ]);
});

test('of several cells the latest that runs', () => {
  writeCell('old', process.pid, 1);
  writeCell('new', process.pid, 2);
  writeCell('dead', DEAD_PID, 3);
  expect(monitorAddresses({ option: [], env: {}, cwd: folder }).urls).toEqual(['http://new']);
});

test('what is no address is a usage error', () => {
  expect(() => monitorAddresses({ option: ['http://a b'], env: {}, cwd: folder })).toThrow(/is no address/);
});
