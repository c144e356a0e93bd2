import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_ROOT, testFolder } from '../support/cli.ts';

const START = join(PROJECT_ROOT, 'scripts', 'start.mjs');

it('npm start stops its cell when npm is told to end, though npm ends only its shell', async () => {
  using folder = testFolder();
  // As npm does it: a shell that stays between, and the name of the script in the environment.
  const shell = spawn(
    'sh',
    ['-c', `"${process.execPath}" "${START}" --no-demo --hosts 1 --monitors 1; exit`],
    {
      cwd: folder.path,
      env: { ...process.env, NO_COLOR: '1', npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  using _ended = { [Symbol.dispose]: () => void shell.kill('SIGKILL') };
  let output = '';
  const isUp = new Promise<void>((resolve) =>
    shell.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('Ctrl-C stops it')) resolve();
    }),
  );
  // The pipe is closed when nobody holds it any more: not the shell, not the cell.
  const isOver = new Promise((resolve) => shell.once('close', resolve));
  await Promise.race([isUp, isOver]);
  expect(output).toContain('Ctrl-C stops it');
  const lock = join(folder.path, '.moorage', 'cells', 'dev', 'lock');
  expect(existsSync(lock)).toBe(true);
  shell.kill('SIGKILL');
  await isOver;
  expect(existsSync(lock)).toBe(false);
});
