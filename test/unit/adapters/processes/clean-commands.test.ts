import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cleanCommands } from '../../../../src/adapters/processes/clean-commands.ts';
import { COMMAND_OUTPUT_BYTES_MAX } from '../../../../src/ports/commands.ts';

const sh = (script: string, timeoutMs = 10_000, ...args: readonly string[]) =>
  cleanCommands.run(['/bin/sh', '-c', script, 'sh', ...args], timeoutMs);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-commands-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('programs of operators', () => {
  it('S0.34 say how they ended and what they printed, with nothing of this process’s environment', async () => {
    process.env['MOORAGE_SECRET_OF_TEST'] = 'hidden';
    try {
      expect(await sh('echo "$1"; echo no >&2; exit 3', 10_000, 'h1')).toEqual({
        code: 3,
        out: 'h1\n',
        err: 'no\n',
      });
      const { out } = await sh('env');
      expect(out).not.toContain('MOORAGE_SECRET_OF_TEST');
      expect(out).toMatch(/^PATH=/m);
    } finally {
      delete process.env['MOORAGE_SECRET_OF_TEST'];
    }
  });

  it('S0.34 one that takes too long is ended with all that it started, and has confirmed nothing', async () => {
    const file = join(folder, 'late');
    const end = await sh('(sleep 1; touch "$1") & wait', 200, file);
    expect(end).toMatchObject({ code: null, err: 'no answer within 200 ms' });
    // Longer than what it left behind would have slept.
    await sh('sleep 1.2');
    expect(existsSync(file)).toBe(false);
  });

  it('S0.34 what one leaves behind keeps nobody waiting', async () => {
    expect(await sh('sleep 30 & exit 0')).toMatchObject({ code: 0 });
  });

  it('S0.34 a missing program and one that is killed have no exit', async () => {
    expect(await cleanCommands.run([join(folder, 'missing')], 1_000)).toMatchObject({ code: null });
    expect(await sh('kill -9 $$')).toMatchObject({ code: null, err: 'killed by SIGKILL' });
  });

  it('S0.34 keeps no more of its output than it may', async () => {
    const { out, code } = await sh('head -c 1000000 /dev/zero');
    expect([code, out.length]).toEqual([0, COMMAND_OUTPUT_BYTES_MAX]);
  });
});
