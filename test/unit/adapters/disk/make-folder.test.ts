import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeFolder } from '../../../../src/adapters/disk/make-folder.ts';

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'moorage test-'))));
afterEach(() => rmSync(root, { recursive: true }));

it('makes what is missing, with the mode, and leaves what is there', () => {
  const folder = join(root, 'a', 'b');
  makeFolder(folder, 0o700);
  makeFolder(folder, 0o755);
  for (const made of [folder, join(root, 'a')]) expect(statSync(made).mode & 0o777).toBe(0o700);
});

it('ends with what the system says, also where nothing can be made', () => {
  writeFileSync(join(root, 'file'), '');
  expect(() => makeFolder(join(root, 'file'))).toThrow(/EEXIST/);
  expect(() => makeFolder(join(root, 'file', 'in'))).toThrow(/ENOTDIR/);
  expect(() => makeFolder('/proc/moorage/keys')).toThrow(/ENOENT/);
});
