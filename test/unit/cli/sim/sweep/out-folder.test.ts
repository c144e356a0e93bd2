import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { OutFolder } from '../../../../../cli/sim/sweep/out-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'moorage-out-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('a finished point is found again; one that cannot be read is not', async () => {
  const out = new OutFolder(join(folder, 'deep', 'out'));
  await out.make();
  await out.make();
  expect(await out.readPoint('a')).toBeNull();
  await out.writePoint('a', { wallSeconds: 1 } as never);
  expect(await out.readPoint('a')).toEqual({ wallSeconds: 1 });
  writeFileSync(join(folder, 'deep', 'out', 'points', 'b.json'), '{"half');
  expect(await out.readPoint('b')).toBeNull();
});

it('two that make it at once both have it', async () => {
  const path = join(folder, 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 8 }, () => new OutFolder(path).make()));
  expect(existsSync(join(path, 'points'))).toBe(true);
});

it('a folder that cannot be made is told before anything is computed for it', async () => {
  writeFileSync(join(folder, 'plain'), '');
  await expect(new OutFolder(join(folder, 'plain')).make()).rejects.toMatchObject({
    message: `cannot make the folder ${join(folder, 'plain', 'points')}: a part of the path is a file`,
    hint: expect.stringContaining('--out') as string,
  });
});

it.skipIf(process.platform !== 'linux')(
  'a file system that takes no folders is no endless work',
  async () => {
    await expect(new OutFolder('/proc/moorage').make()).rejects.toThrow(
      'cannot make the folder /proc/moorage',
    );
  },
);
