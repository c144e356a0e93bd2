import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../../../cli/command/exit.ts';
import { writeExitCode } from '../../../../cli/command/write-exit-code.ts';
import { mustBeWritable, writeText } from '../../../../cli/command/write-text.ts';

const folder = mkdtempSync(join(tmpdir(), 'moorage-write-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a file that is written as a whole', () => {
  it('holds one of the texts when many write it at once, and nothing else is left', async () => {
    const file = join(folder, 'at-once');
    const texts = Array.from({ length: 20 }, (_, at) => String(at).repeat(50_000));
    await Promise.all(texts.map((text) => writeText(file, text, 'wait')));
    expect(texts).toContain(readFileSync(file, 'utf8'));
    expect(readdirSync(folder).filter((name) => name.startsWith('at-once'))).toEqual(['at-once']);
  });

  it('is written where its link points', async () => {
    writeFileSync(join(folder, 'target'), 'old');
    symlinkSync(join(folder, 'target'), join(folder, 'link'));
    await writeText(join(folder, 'link'), 'new', 'wait');
    expect(readFileSync(join(folder, 'target'), 'utf8')).toBe('new');
  });

  it('a device is written as it is', async () => {
    await mustBeWritable('/dev/null', 'x');
    await writeText('/dev/null', 'gone', 'x');
  });

  it.each([
    ['', 'it is a folder'],
    ['none/file', 'its folder is not there'],
    ['plain/file', 'a part of the path is a file'],
  ])('%j: says why it cannot be, before and at the writing', async (name, why) => {
    writeFileSync(join(folder, 'plain'), '');
    const wanted = { message: `cannot write ${join(folder, name)}: ${why}`, hint: 'another', exitCode: 64 };
    await expect(mustBeWritable(join(folder, name), 'another')).rejects.toMatchObject(wanted);
    await expect(writeText(join(folder, name), 'x', 'another')).rejects.toMatchObject(wanted);
    expect(readFileSync(join(folder, 'plain'), 'utf8')).toBe('');
  });

  it('a full disk is no fault of who typed the name', async () => {
    await expect(writeText('/dev/full', 'x', 'make room')).rejects.toMatchObject({
      ...{
        message: 'cannot write /dev/full: the disk is full',
        hint: 'make room',
        exitCode: EXIT.workloadFailed,
      },
    });
  });

  it.each([
    ['ENOSPC', EXIT.workloadFailed],
    ['EDQUOT', EXIT.workloadFailed],
    ['EFBIG', EXIT.workloadFailed],
    ['EACCES', EXIT.unreachable],
    ['EROFS', EXIT.unreachable],
    ['ENOENT', EXIT.usage],
    ['EISDIR', EXIT.usage],
  ])('%s ends with %d', (code, status) => {
    expect(writeExitCode(Object.assign(new Error(code), { code }))).toBe(status);
  });
});
