import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readTar } from '../../../../../cli/tasks/cp/tar-reader.ts';
import { unpack } from '../../../../../cli/tasks/cp/unpack.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'moorage-cp-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** In pieces of any size, as they come over a network. */
async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function packed(path: string, format: string): Buffer {
  const done = spawnSync('tar', ['-C', path, `--format=${format}`, '-cf', '-', '.'], { maxBuffer: 1 << 28 });
  expect(done.stderr.toString()).toBe('');
  return done.stdout;
}

interface Member {
  readonly path: string;
  readonly type?: string;
  readonly target?: string;
  readonly body?: string;
}

/** An archive as nobody's tar would write it. */
function archive(members: readonly Member[]): Buffer {
  const blocks = members.flatMap(({ path, type = '0', target = '', body = '' }) => {
    const header = Buffer.alloc(512);
    header.write(path, 0);
    header.write('0000644\0', 100);
    header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write(type, 156);
    header.write(target, 157);
    header.write('        ', 148);
    const sum = header.reduce((all, byte) => all + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const content = Buffer.alloc(Math.ceil(body.length / 512) * 512);
    content.write(body);
    return [header, content];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

const put = (members: readonly Member[]) =>
  unpack(readTar(pieces(archive(members), 700)), join(folder, 'in'));

function listing(root: string, at = ''): string[] {
  return readdirSync(join(root, at), { withFileTypes: true }).flatMap((entry) => {
    const path = join(at, entry.name);
    const { mode } = lstatSync(join(root, path));
    if (entry.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(root, path))}`];
    const line = `${path} ${(mode & 0o777).toString(8)}`;
    if (entry.isDirectory()) return [line, ...listing(root, path)];
    return [`${line} ${readFileSync(join(root, path)).toString('hex')}`];
  });
}

const name = fc.stringMatching(/^[a-z ]{1,60}$/).map((text) => `n${text}n`);
const someTree = fc.dictionary(
  fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
  fc.record({ content: fc.uint8Array({ maxLength: 2_000 }), mode: fc.constantFrom(0o644, 0o600, 0o755) }),
  { maxKeys: 8 },
);

describe('folders that are copied', () => {
  it('are here as they were there, in every way that tar writes them', async () => {
    let made = 0;
    const check = async (
      tree: Readonly<Record<string, { content: Uint8Array; mode: number }>>,
      format: string,
      size: number,
    ): Promise<void> => {
      const [from, to] = [join(folder, `from${String(++made)}`), join(folder, `to${String(made)}`)];
      mkdirSync(from);
      for (const [path, { content, mode }] of Object.entries(tree)) {
        const whole = join(from, path);
        // A file may already stand where this one wants a folder.
        try {
          mkdirSync(dirname(whole), { recursive: true });
          writeFileSync(whole, content);
          chmodSync(whole, mode);
        } catch {
          continue;
        }
        symlinkSync(path.split('/').at(-1) ?? '', `${whole}.link`);
      }
      const { leftOut } = await unpack(readTar(pieces(packed(from, format), size)), to);
      expect(leftOut).toEqual([]);
      expect(listing(to)).toEqual(listing(from));
    };
    await fc.assert(
      fc.asyncProperty(
        someTree,
        fc.constantFrom('gnu', 'posix', 'ustar'),
        fc.integer({ min: 1, max: 5_000 }),
        check,
      ),
      { numRuns: 30 },
    );
  });

  it.each<readonly [string, readonly Member[]]>([
    ['a path that goes up', [{ path: '../out', body: 'x' }]],
    ['a path that goes down and up', [{ path: './a/../../out', body: 'x' }]],
    ['an absolute path', [{ path: '/tmp/moorage-out', body: 'x' }]],
    ['a hard link to outside', [{ path: 'h', type: '1', target: '../secret' }]],
  ])('refuses %s', async (_what, members) => {
    writeFileSync(join(folder, 'secret'), 'secret');
    await expect(put(members)).rejects.toThrow(/would leave the folder/);
    expect(existsSync(join(folder, 'out'))).toBe(false);
  });

  it('goes through no link: neither one that it brings nor one that was there', async () => {
    mkdirSync(join(folder, 'in', 'real'), { recursive: true });
    symlinkSync(folder, join(folder, 'in', 'old'));
    await expect(put([{ path: 'old/file', body: 'x' }])).rejects.toThrow(/is no folder here/);
    const through: readonly Member[] = [
      { path: 'new', type: '2', target: 'real' },
      { path: 'new/file', body: 'x' },
    ];
    await expect(put(through)).rejects.toThrow(/is no folder here/);
    // A file takes the place of a link, and does not write to where that leads.
    writeFileSync(join(folder, 'victim'), 'untouched');
    symlinkSync(join(folder, 'victim'), join(folder, 'in', 'name'));
    await put([{ path: 'name', body: 'new' }]);
    expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('untouched');
    expect(readFileSync(join(folder, 'in', 'name'), 'utf8')).toBe('new');
  });

  it('leaves out links to outside, and what is neither file nor folder', async () => {
    const { leftOut } = await put([
      { path: 'a', type: '2', target: '/etc' },
      { path: 'b', type: '2', target: '../../..' },
      { path: 'c', type: '6' },
      { path: 'd', body: 'kept' },
    ]);
    expect(leftOut.map((one) => one.slice(0, 2))).toEqual(['a:', 'b:', 'c:']);
    expect(readdirSync(join(folder, 'in'))).toEqual(['d']);
  });

  it('says when what came is no archive, or only a part of one', async () => {
    const noise = unpack(readTar(pieces(Buffer.alloc(2_048, 'x'), 100)), join(folder, 'in'));
    await expect(noise).rejects.toThrow('no tar archive');
    const cut = archive([{ path: 'a', body: 'x'.repeat(2_000) }]).subarray(0, 1_500);
    await expect(unpack(readTar(pieces(cut, 100)), join(folder, 'in'))).rejects.toThrow('ends too early');
  });
});
