import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeFolder } from '../../../../src/adapters/disk/make-folder.ts';

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'moorage test-'))));
afterEach(() => rmSync(root, { recursive: true }));

it('makes what is missing, with the mode, and leaves what is there', async () => {
  const folder = join(root, 'a', 'b');
  await Promise.all([makeFolder(folder, 0o700), makeFolder(folder, 0o700)]);
  await makeFolder(folder, 0o755);
  for (const made of [folder, join(root, 'a')]) expect(statSync(made).mode & 0o777).toBe(0o700);
});

it('ends with what the system says, also where nothing can be made', async () => {
  writeFileSync(join(root, 'file'), '');
  await expect(makeFolder(join(root, 'file'))).rejects.toThrow(/EEXIST/);
  await expect(makeFolder(join(root, 'file', 'in'))).rejects.toThrow(/ENOTDIR/);
  await expect(makeFolder('/proc/moorage/keys')).rejects.toThrow(/ENOENT/);
});
