import { lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { FileThread } from '../../../../src/adapters/file-thread/file-thread.ts';
import { openFileThread } from '../../../../src/adapters/file-thread/file-thread.ts';
import { nodeDisk } from '../../../../src/adapters/disk/disk.ts';
import { BatchRunner } from '../../../../src/adapters/disk/batch-runner.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import type { Disk } from '../../../../src/ports/disk.ts';

const folders: string[] = [];
const threads: FileThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const disks: readonly (readonly [string, () => Disk])[] = [
  ['memory', () => new MemoryDisk()],
  [
    'file system',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'moorage-disk-'));
      folders.push(folder);
      return nodeDisk(folder);
    },
  ],
  [
    'file system, changed by a thread of its own',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'moorage-disk-'));
      folders.push(folder);
      const thread = openFileThread(folder);
      threads.push(thread);
      return thread.disk;
    },
  ],
];

it('hands a text to a folder of somebody else: for all to read, and past the link that was laid there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-disk-'));
  folders.push(folder);
  const disk = nodeDisk(folder);
  await disk.makeFolder('work');
  writeFileSync(join(folder, 'secret'), 'not to be written');
  symlinkSync(join(folder, 'secret'), join(folder, 'work', 'a.txt'));
  await disk.hand('work/a.txt', 'one\n');
  await disk.hand('work/a.txt', 'two\n');
  expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe('not to be written');
  expect(await disk.read('work/a.txt')).toBe('two\n');
  expect(lstatSync(join(folder, 'work', 'a.txt')).mode & 0o777).toBe(0o644);
  expect([await disk.list('work'), await disk.list('handed')]).toEqual([['a.txt'], []]);
  await disk.makeFolder('work/b.txt');
  await expect(disk.hand('work/b.txt', 'x')).rejects.toThrow('cannot write work/b.txt');
  expect(await disk.list('handed')).toEqual([]);
});

describe.each(disks)('a disk: %s', (_name, make) => {
  it('a record is published once; of many at once one wins, and the record is the winner’s', async () => {
    const disk = make();
    const done = await Promise.all(
      Array.from({ length: 20 }, (_, i) => disk.publish('a/b/record', `writer ${String(i)}`)),
    );
    expect(done.filter((one) => one === 'published')).toHaveLength(1);
    expect(await disk.read('a/b/record')).toBe(`writer ${String(done.indexOf('published'))}`);
    expect(await disk.list('a/b')).toEqual(['record']);
  });

  it('absence is a value', async () => {
    const disk = make();
    expect(await disk.read('no/where')).toBeNull();
    expect(await disk.sizeOf('no/where')).toBeNull();
    expect(await disk.list('no/where')).toEqual([]);
    expect(await disk.readRange('no/where', 0, 10)).toHaveLength(0);
    await disk.remove('no/where');
  });

  it('replaces, appends in the order of the calls, reads ranges', async () => {
    const disk = make();
    await disk.replace('one', 'first');
    await disk.replace('one', 'second');
    expect(await disk.read('one')).toBe('second');
    await Promise.all(['a', 'b', 'c', 'd'].map((text) => disk.append('log', text)));
    await disk.append('log', 'é');
    expect(await disk.read('log')).toBe('abcdé');
    expect(await disk.sizeOf('log')).toBe(6);
    expect(Buffer.from(await disk.readRange('log', 1, 2)).toString()).toBe('bc');
    expect(await disk.readRange('log', 6, 10)).toHaveLength(0);
  });

  it('removes trees, moves, and reports changes', async () => {
    const disk = make();
    await disk.publish('tree/a/one', '1');
    await disk.publish('tree/b', '2');
    await disk.move('tree/b', 'away/far/b');
    expect(await disk.read('away/far/b')).toBe('2');
    expect(await disk.list('tree')).toEqual(['a']);
    const changed = new Promise<void>((resolve) => {
      const stop = disk.watch('tree', () => {
        stop();
        resolve();
      });
    });
    await disk.publish('tree/c', '3');
    await changed;
    await disk.remove('tree');
    expect(await disk.list('tree')).toEqual([]);
    expect(await disk.freeBytes()).toBeGreaterThan(0);
  });
});

describe('the disk of a machine', () => {
  it('what the device refuses is an error of its own, with what was tried', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-disk-'));
    folders.push(folder);
    writeFileSync(join(folder, 'file'), '');
    const thread = openFileThread(folder);
    threads.push(thread);
    for (const disk of [nodeDisk(folder), thread.disk])
      await expect(disk.publish('file/below', 'x')).rejects.toMatchObject({
        name: 'DiskError',
        code: 'io',
        retryable: false,
      });
  });

  it('a thread that ends takes what is under way with it as a failure, and leaves the rest to the caller', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-disk-'));
    folders.push(folder);
    const thread = openFileThread(folder);
    const { disk } = thread;
    const done = disk.publish('one', '1');
    await thread.close();
    expect(await done).toBe('published');
    expect(await disk.publish('two', '2')).toBe('published');
    expect(await disk.read('two')).toBe('2');
  });

  it('appends that come while one is written share the next sync; a failure reaches exactly those it is about', async () => {
    const runs: string[] = [];
    let fail = false;
    let idle = 0;
    const queue = new BatchRunner<string>(
      async (items) => {
        runs.push(items.join(''));
        await Promise.resolve();
        if (fail) throw new Error('full');
      },
      () => (idle += 1),
    );
    await Promise.all(['a', 'b', 'c'].map((text) => queue.add(text)));
    expect(runs).toEqual(['abc']);
    fail = true;
    const refused = queue.add('d');
    await expect(refused).rejects.toThrow('full');
    fail = false;
    const first = queue.add('e');
    await Promise.resolve();
    await Promise.resolve();
    // One that is under way is not joined: it may have begun before what this one is about.
    await Promise.all([first, queue.add('f')]);
    expect(runs).toEqual(['abc', 'd', 'e', 'f']);
    expect(idle).toBe(3);
  });
});
