import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import {
  findMarked,
  identityOfSelf,
  isRunning,
  parseStat,
  readBootId,
} from '../../../../src/adapters/processes/proc-files.ts';
import { signalNumber } from '../../../../src/adapters/processes/signals.ts';

describe('what the kernel says of processes', () => {
  it('a name with brackets and blanks does not shift the fields', () => {
    const rest = Array.from({ length: 30 }, (_, i) => String(i + 4)).join(' ');
    expect(parseStat(`12 (a) b (c) S ${rest}`)).toEqual({ state: 'S', parent: 4, start: 22 });
  });

  it('I30 a number alone is no process: the start time must be the same', async () => {
    const self = identityOfSelf(readBootId());
    expect(await isRunning(self)).toBe(true);
    expect(await isRunning({ ...self, start: self.start + 1 })).toBe(false);
    expect(await isRunning({ ...self, pid: 2 ** 22 + 1 })).toBe(false);
  });

  it('finds the processes of an attempt by their mark, wherever they hang', async () => {
    const attempt = `mark.${String(process.pid)}.1`;
    const child = spawn('sleep', ['1000'], { env: { MOORAGE_ATTEMPT: attempt }, detached: true });
    await new Promise((done) => child.once('spawn', done));
    expect(await findMarked([`MOORAGE_ATTEMPT=${attempt}`])).toEqual([child.pid]);
    expect(await findMarked([`MOORAGE_ATTEMPT=${attempt}0`])).toEqual([]);
    child.kill('SIGKILL');
    await new Promise((done) => child.once('exit', done));
    expect(await findMarked([`MOORAGE_ATTEMPT=${attempt}`])).toEqual([]);
  });

  it('a signal that this system does not have is refused before it is sent', () => {
    expect(['SIGTERM', 'SIGRTMIN', 'SIGRTMIN+3'].map(signalNumber)).toEqual([15, 34, 37]);
    expect(() => signalNumber('SIGNONE')).toThrow(/no signal SIGNONE/);
    expect(() => signalNumber('SIGRTMIN+40')).toThrow(/no signal/);
  });
});
