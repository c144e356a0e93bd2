import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT_ROOT } from './cli.ts';
import { removeFolder } from './folders.ts';

/** An empty folder in which the packed file was installed, as a user would. */
export interface Installed {
  readonly folder: string;
  /** Its command line. */
  readonly cli: string;
  [Symbol.dispose](): void;
}

/** @throws with what npm said */
export function installPacked(): Installed {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-packed-'));
  const npm = (...args: readonly string[]): void => {
    const done = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`npm ${args.join(' ')}: ${done.stdout}${done.stderr}`);
  };
  npm('pack', '--silent', '--ignore-scripts', '--pack-destination', folder, PROJECT_ROOT);
  const [file = ''] = readdirSync(folder).filter((name) => /^moorage-[\d.]+\.tgz$/.test(name));
  npm('install', '--prefer-offline', '--no-audit', '--no-fund', `./${file}`);
  return {
    folder,
    cli: join(folder, 'node_modules', 'moorage', 'dist', 'cli', 'main.cjs'),
    [Symbol.dispose]: () => removeFolder(folder),
  };
}
