import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Installed } from '../support/packed.ts';
import { installPacked } from '../support/packed.ts';

describe('the packed file', () => {
  let packed: Installed;
  const run = (command: string, ...args: string[]) => {
    const done = spawnSync(command, args, {
      cwd: packed.folder,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    });
    return { code: done.status, stdout: done.stdout, stderr: done.stderr };
  };

  beforeAll(() => {
    packed = installPacked();
  });
  afterAll(() => packed[Symbol.dispose]());

  it('brings up a cell in an empty folder, shows what it does, and leaves nothing', () => {
    const shown = run('npx', 'moorage', 'dev', '--once');
    const said = shown.stdout + shown.stderr;
    expect(said).toContain('up in ');
    expect(said).toContain('hello from');
    expect(shown.code, said).toBe(0);
    expect(readdirSync(join(packed.folder, '.moorage', 'cells'))).toEqual([]);
  });

  it('has the man page and its own version', () => {
    expect(run('npx', 'moorage', 'man').stdout).toMatch(/^\.TH MOORAGE 1/);
    const { code, stdout } = run('npx', 'moorage', '--version');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^moorage \d+\.\d+\.\d+\n$/);
  });
});
