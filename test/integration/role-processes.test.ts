import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ProcessGroup } from '../../cli/local-cell/processes.ts';
import { testFolder } from '../support/cli.ts';

/**
 * A role that says why, and ends before it is ready, at those of its starts that are listed; at the others it serves, and
 * lives until it is told to stop. It is told which start it is by a file that grows.
 */
const ROLE = `
import { appendFileSync, readFileSync } from 'node:fs';
const [starts, bad] = process.argv.slice(2);
appendFileSync(starts, 'x');
const start = readFileSync(starts, 'utf8').length;
if (bad.split(',').includes(String(start))) {
  console.error('no ' + start + ': the key file is not there');
  process.exit(3);
}
console.log(JSON.stringify({ ready: true, id: 'role-1', address: 'http://127.0.0.1:1' }));
process.on('SIGTERM', () => process.exit(0));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
`;

const folder = testFolder();
const cliPath = join(folder.path, 'role.mjs');
writeFileSync(cliPath, ROLE);
const told: string[] = [];
let heard = (): void => undefined;
const onEvent = (text: string): void => {
  told.push(text);
  heard();
};
const group = new ProcessGroup({ cliPath, logFolder: join(folder.path, 'logs'), onEvent });

function isTold(text: RegExp): Promise<void> {
  return new Promise((resolve) => {
    heard = () => void (told.some((line) => text.test(line)) && resolve());
    heard();
  });
}

afterAll(async () => {
  await group.stopAll();
  folder[Symbol.dispose]();
});

it('a role that dies again and again is started again, and why it cannot is told', async () => {
  const starts = join(folder.path, 'starts');
  const role = await group.start('role-1', [starts, '2,3,4,5'], { keepUp: true });
  const first = role.pid;
  process.kill(first, 'SIGKILL');
  await isTold(/is up again after/);
  expect(readFileSync(starts, 'utf8')).toHaveLength(6);
  expect(role.pid).not.toBe(first);
  expect(told[0]).toBe('role-1 ended (SIGKILL); it is started again');
  expect(told[1]).toMatch(
    /^role-1 ended \(exit code 3\), 2 times in a row soon after its start; it is started/,
  );
  expect(told[1]).toMatch(/logs\/role-1\.log, ends with:\n {2}no 2: the key file is not there/);
  expect(told).toHaveLength(6);
  await group.stopAll();
  expect(() => process.kill(role.pid, 0)).toThrow();
  expect(readFileSync(starts, 'utf8')).toHaveLength(6);
});
