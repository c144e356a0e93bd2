import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { takeDataFolder } from '../../../../cli/local-cell/data-folder.ts';

let base: string;
beforeEach(() => (base = mkdtempSync(join(tmpdir(), 'moorage test-'))));
afterEach(() => rmSync(base, { recursive: true }));

it('a second cell of a name stands beside the first, and gets its place when that is over', () => {
  const first = takeDataFolder(base, 'dev');
  expect(takeDataFolder(base, 'dev').name).toBe('dev-2');
  first.release(false);
  expect(takeDataFolder(base, 'dev').name).toBe('dev');
});

it.each(['A B', '../../elsewhere', '', 'a/b', '-dev'])(
  'the name %j is refused before anything is made',
  (name) => {
    expect(() => takeDataFolder(base, name)).toThrow(/--name .*: use lower-case letters/);
    expect(readdirSync(base)).toEqual([]);
  },
);

it('ends with the folder and the reason where none can be made', () => {
  // Node's own way to make folders never ends there.
  expect(() => takeDataFolder('/proc/moorage', 'dev')).toThrow(
    'cannot make the folder /proc/moorage/.moorage/cells/dev: there is no such file',
  );
  writeFileSync(join(base, '.moorage'), '');
  expect(() => takeDataFolder(base, 'dev')).toThrow(/a part of the path is a file/);
  expect(existsSync(join(base, '.moorage', 'cells'))).toBe(false);
});
