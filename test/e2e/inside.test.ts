import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
let cell: DevCellProcess;

const moorage = (args: readonly string[], input = '') => runCli(args, { cwd: folder.path, input });

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    '--monitors',
    '2',
    '--schedulers',
    'service,batch',
  ]);
  const file = join(folder.path, 'echo.yaml');
  const script = 'echo begin; while read line; do echo "got $line"; done; echo end; sleep 1000';
  const job = { name: 'echo', type: 'service', script, stdin: true, count: 2 };
  writeFileSync(file, JSON.stringify(job));
  const submitted = await moorage(['run', '-d', file]);
  expect(submitted.stderr).toBe('');
  expect((await moorage(['wait', 'echo', '--for', 'running', '--timeout', '200s'])).code).toBe(0);
});

afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

describe('inside an allocation, through a monitor', () => {
  it('exec runs a command as if it ran here: its output, its error output, its exit code', async () => {
    const done = await moorage([
      'exec',
      'echo[0]',
      '--',
      'sh',
      '-c',
      'echo "$ALLOC_INDEX"; echo no >&2; exit 9',
    ]);
    expect(done).toMatchObject({ code: 9, stdout: '0\n', stderr: 'no\n' });
    const other = await moorage(['exec', 'echo[1]', '--', 'sh', '-c', 'echo "$ALLOC_INDEX"']);
    expect(other.stdout).toBe('1\n');
    expect((await moorage(['exec', 'echo[1]', '--', 'no-such-thing'])).code).toBe(127);
    const none = await moorage(['exec', 'echo[7]', '--', 'true']);
    expect(none.stderr).toContain('nothing of "echo[7]" is placed');
    const many = await moorage(['exec', 'echo', '--', 'true']);
    expect(many.stderr).toContain('"echo" may be any of');
  });

  it('S2.5 exec -i passes everything on: megabytes there and back', async () => {
    const line = `${'x'.repeat(99)}\n`;
    const input = line.repeat(20_000);
    const done = await moorage(['exec', '-i', 'echo[0]', '--', 'cat'], input);
    expect(done.code).toBe(0);
    expect(done.stdout.length).toBe(input.length);
    expect(done.stdout === input).toBe(true);
  });

  it('exec -t gives a terminal', async () => {
    const done = await moorage(['exec', '-t', 'echo[0]', '--', 'sh', '-c', 'test -t 1 && stty size']);
    expect(done).toMatchObject({ code: 0, stdout: '24 80\r\n' });
  });

  it('attach writes to the task itself and shows what it says from the start', async () => {
    const stopped = moorage(['attach', 'echo[1]'], 'one\ntwo\n');
    const seen = await untilLogs(/end/);
    expect(seen).toBe('begin\ngot one\ngot two\nend\n');
    expect((await moorage(['stop', 'echo', '--wait', '--timeout', '200s'])).code).toBe(0);
    const end = await stopped;
    expect(end.stdout).toBe(seen);
    expect(end.code).toBe(128 + 15);
  });
});

describe('cp', () => {
  it('copies a file in and out, whole, with its mode', async () => {
    const job = { name: 'box', type: 'service', script: 'sleep 1000' };
    const file = join(folder.path, 'box.yaml');
    writeFileSync(file, JSON.stringify(job));
    await moorage(['run', '-d', file]);
    expect((await moorage(['wait', 'box', '--for', 'running', '--timeout', '200s'])).code).toBe(0);
    const large = join(folder.path, 'large');
    writeFileSync(large, Buffer.alloc(9_000_000, 'moorage '), { mode: 0o750 });
    expect(await moorage(['cp', large, 'box:./inside'])).toMatchObject({ code: 0 });
    const mode = await moorage(['exec', 'box', '--', 'stat', '-c', '%a %s', 'inside']);
    expect(mode.stdout).toBe('750 9000000\n');
    expect(await moorage(['cp', 'box:inside', join(folder.path, 'back')])).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder.path, 'back')).equals(readFileSync(large))).toBe(true);
    expect(statSync(join(folder.path, 'back')).size).toBe(9_000_000);
    const missing = await moorage(['cp', 'box:/no/such/file', '.']);
    expect(missing.code).not.toBe(0);
    expect(missing.stderr).toContain('cannot copy /no/such/file: it is not there');
  });

  it('copies folders in and out, with their modes, empty folders and links, and megabytes of them', async () => {
    const tree = join(folder.path, 'tree');
    mkdirSync(join(tree, 'deep', 'empty'), { recursive: true });
    writeFileSync(join(tree, 'deep', 'run me.sh'), 'echo', { mode: 0o755 });
    chmodSync(join(tree, 'deep', 'run me.sh'), 0o755);
    writeFileSync(join(tree, 'secret'), 'mine');
    chmodSync(join(tree, 'secret'), 0o600);
    // Several times what a host keeps of a command's output.
    const large = Buffer.alloc(40_000_000);
    for (let at = 0; at < large.length; at += 4) large.writeUInt32LE(at, at);
    writeFileSync(join(tree, 'large'), large);
    symlinkSync('secret', join(tree, 'link'));
    chmodSync(join(tree, 'deep', 'empty'), 0o500);
    const into = await moorage(['cp', tree, 'box:.']);
    expect(into).toMatchObject({ code: 0 });
    const look = await moorage([
      'exec',
      'box',
      '--',
      'sh',
      '-c',
      'cd tree && stat -c "%a %n" deep/* secret && readlink link && sha256sum < large',
    ]);
    const sum = createHash('sha256').update(large).digest('hex');
    expect(look.stdout).toBe(`500 deep/empty\n755 deep/run me.sh\n600 secret\nsecret\n${sum}  -\n`);
    const back = join(folder.path, 'tree back');
    const out = await moorage(['cp', 'box:tree', back]);
    expect(out).toMatchObject({ code: 0 });
    expect(out.stderr).toContain('4 files, 40000008 bytes');
    expect(readFileSync(join(back, 'large')).equals(large)).toBe(true);
    const modes = ['deep/empty', 'deep/run me.sh', 'secret'].map(
      (name) => statSync(join(back, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o500, 0o755, 0o600]);
    expect(readlinkSync(join(back, 'link'))).toBe('secret');
    for (const one of [tree, back]) chmodSync(join(one, 'deep', 'empty'), 0o700);
  });

  it('a folder that leads out of itself does not write elsewhere here; what is no folder is told', async () => {
    const script = 'mkdir -p trap && cd trap && ln -sf /etc out && ln -sf ../.. up && echo x > fine';
    expect((await moorage(['exec', 'box', '--', 'sh', '-c', script])).code).toBe(0);
    const out = await moorage(['cp', 'box:trap', join(folder.path, 'trapped')]);
    expect(out.code).toBe(0);
    expect(out.stderr).toContain('left out: ./out: it is a link to /etc, outside of the folder');
    expect(readdirSync(join(folder.path, 'trapped'))).toEqual(['fine']);
    const onto = join(folder.path, 'a file');
    writeFileSync(onto, '');
    const clash = await moorage(['cp', 'box:trap', onto]);
    expect(clash.code).toBe(125);
    expect(clash.stderr).toContain('is no folder here');
    const device = await moorage(['cp', 'box:/dev/null', '.']);
    expect(device.stderr).toContain('it is neither file nor folder');
    const none = await moorage(['cp', join(folder.path, 'nothing'), 'box:.']);
    expect(none.stderr).toContain('cannot read');
    await moorage(['stop', 'box', '--wait', '--timeout', '200s']);
  });
});

function untilLogs(wanted: RegExp): Promise<string> {
  return until(
    async () => (await moorage(['logs', 'echo', '--index', '1'])).stdout.replaceAll(/^echo[^ ]* /gm, ''),
    (text) => wanted.test(text),
    { what: `the log is ${String(wanted)}` },
  );
}
