import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RoleProcess } from '../../../../cli/local-cell/role-process.ts';

/** It says so, and then, when it is asked to by a file, something more; or ends by itself in the end. */
const LEFT_RUNNING = `
  const { existsSync, writeSync } = require('node:fs');
  writeSync(2, 'left running\\n');
  const look = setInterval(() => {
    if (!existsSync(process.argv[1])) return;
    clearInterval(look);
    writeSync(2, 'said later\\n');
    process.exit();
  }, 10);
  setTimeout(() => process.exit(), 60_000);
`;
/** Ends when what it leaves behind is up. */
const ROLE = `
  const { spawn } = require('node:child_process');
  const stdio = ['ignore', 'pipe', 'inherit'];
  spawn(process.execPath, ['-e', process.argv[1], process.argv[2]], { stdio }).once('spawn', () => {
    process.stderr.write('ends\\n', () => process.exit(3));
  });
`;

let folder = '';
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'moorage-role-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the process of a role', () => {
  it('ends though what it left running holds its standard error, and that is logged to its own end', async () => {
    const [logFile, sayMore] = [join(folder, 'role.log'), join(folder, 'say-more')];
    const args = ['-e', ROLE, LEFT_RUNNING, sayMore];
    const role = new RoleProcess({ name: 'role', args, env: {}, logFile });
    await expect(role.ready).rejects.toThrow('ended before it was ready (exit code 3)');
    expect((await role.ended).how).toBe('exit code 3');
    const logged = (): string[] => readFileSync(logFile, 'utf8').trimEnd().split('\n').sort();
    writeFileSync(sayMore, '');
    await vi.waitFor(() => expect(logged()).toEqual(['ends', 'left running', 'said later']), 50_000);
  });
});
