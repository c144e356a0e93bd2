import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/cli.ts';

describe('issue 28: the packed file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-packed-'));
  const run = (command: string, ...args: string[]) => {
    const done = spawnSync(command, args, {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    });
    return { code: done.status, stdout: done.stdout, stderr: done.stderr };
  };

  beforeAll(() => {
    const packed = spawnSync(
      'npm',
      ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, PROJECT_ROOT],
      { cwd: folder, encoding: 'utf8' },
    );
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    expect(file, packed.stderr).toMatch(/^moorage-[\d.]+\.tgz$/);
    const installed = run('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', `./${file}`);
    expect(installed.code, installed.stderr).toBe(0);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('brings up a cell in an empty folder, shows what it does, and leaves nothing', () => {
    const shown = run('npx', 'moorage', 'dev', '--once');
    const said = shown.stdout + shown.stderr;
    expect(said).toContain('up in ');
    expect(said).toContain('hello from');
    expect(shown.code, said).toBe(0);
    expect(readdirSync(join(folder, '.moorage', 'cells'))).toEqual([]);
  });

  it('has the man page and its own version', () => {
    expect(run('npx', 'moorage', 'man').stdout).toMatch(/^\.TH MOORAGE 1/);
    expect(run('npx', 'moorage', '--version')).toMatchObject({ code: 0, stdout: 'moorage\n' });
  });
});
