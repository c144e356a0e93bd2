import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import type { JobListAnswer } from '../../src/wire/api/monitor-api.ts';
import { CLI, ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

/** `moorage <words>` as a shell has it. */
function shell(words: string, cwd: string) {
  const line = words.replaceAll('moorage', `"${process.execPath}" "${CLI}"`);
  return spawnSync('bash', ['-c', line], { cwd, encoding: 'utf8' });
}

it('output that finds no room is told, and is no success', () => {
  using folder = testFolder();
  const { status, stderr } = shell('moorage --help > /dev/full', folder.path);
  expect(stderr).toMatch(/^moorage: the output could not be written: the disk is full\nnext: /);
  expect(status).toBe(1);
});

it('a one-off run ends when nobody reads on, as it would here', async () => {
  using folder = testFolder();
  const cell = await startDevCell(folder.path, ONE_OF_EACH);
  const { stdout } = shell('moorage run --name endless -- yes | head -1; echo ${PIPESTATUS[0]}', folder.path);
  expect(stdout).toBe('y\n0\n');
  const listed = await runCli(['ps', '-o', 'json'], { cwd: folder.path });
  const { jobs } = JSON.parse(listed.stdout) as JobListAnswer;
  expect(jobs.map(({ phase }) => phase)).toEqual(['stopped']);
  expect((await cell.stop()).code).toBe(0);
});
