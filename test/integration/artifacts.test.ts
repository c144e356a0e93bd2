import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { artifactSource } from '../../src/adapters/disk/artifact-source.ts';
import type { Artifact, Task } from '../../src/core/cell/job.ts';
import { DriverWorld } from '../support/driver-world.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { describeNeeding, firstMissing, itWhere, program, root } from '../support/needs.ts';
import { stateFolder } from '../support/real-host.ts';

/** What is served under each path; a path that is not there is cut off in the middle. */
const served = new Map<string, Buffer>();
const asked: string[] = [];
let server: Server;
let base = '';

beforeAll(async () => {
  server = createServer((request, answer) => {
    const path = request.url ?? '';
    asked.push(path);
    const bytes = served.get(path);
    if (path === '/moved') answer.writeHead(302, { location: '/file' }).end();
    else if (bytes !== undefined) answer.end(bytes);
    else if (path === '/cut') {
      answer.writeHead(200, { 'content-length': '1000' });
      answer.write('some', () => answer.destroy());
    } else answer.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  base = `http://127.0.0.1:${String((server.address() as { port: number }).port)}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked.length = 0;
});

function serve(path: string, bytes: Buffer): Artifact {
  served.set(path, bytes);
  return { source: `${base}${path}`, sha256: sha256(bytes), unpack: false };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** @param more another archive, whose members follow */
function tarOf(folder: string, names: readonly string[], more?: Buffer): Buffer {
  const file = `${folder}.tar`;
  spawnSync('tar', ['-C', folder, '-cf', file, ...names]);
  if (more === undefined) return readFileSync(file);
  writeFileSync(`${file}.more`, more);
  spawnSync('tar', ['-Af', file, `${file}.more`]);
  return readFileSync(file);
}

function order(script: string, artifacts: Task['artifacts'], changes: Partial<Task> = {}) {
  const task = someTask({ command: ['sh', '-c', script], artifacts: artifacts ?? {}, ...changes });
  return someStart({ tasks: [task] });
}

describeNeeding(firstMissing(program('bwrap'), program('cc')), 'artifacts of tasks', () => {
  const world = new DriverWorld();
  beforeAll(() => world.open({ allow: ['agent-user'] }));
  afterAll(() => world.close());

  it('are fetched once for two tasks at once, and not again for a third', async () => {
    const file = serve('/file', Buffer.from('content\n'));
    const script = 'cat "$MOORAGE_ARTIFACT_THE_FILE"';
    const both = await Promise.all([1, 2].map(() => world.run(order(script, { 'the-file': file }))));
    expect(both.map(({ output }) => output)).toEqual(['content\n', 'content\n']);
    expect((await world.run(order(script, { 'the-file': file }))).output).toBe('content\n');
    expect(asked).toEqual(['/file']);
  });

  it('S3.37 with the source gone, what was here still starts', async () => {
    const file = serve('/kept', Buffer.from('kept\n'));
    await world.run(order('true', { a: file }));
    served.delete('/kept');
    expect((await world.run(order('cat "$MOORAGE_ARTIFACT_A"', { a: file }))).output).toBe('kept\n');
  });

  it('a plain process has a copy of its own: what it does to it harms nobody', async () => {
    const file = serve('/mine', Buffer.from('mine\n'));
    const script =
      'chmod u+w $MOORAGE_ARTIFACT_A && echo other >$MOORAGE_ARTIFACT_A && cat $MOORAGE_ARTIFACT_A';
    expect((await world.run(order(script, { a: file }, { user: 'agent' }))).output).toBe('other\n');
    expect((await world.run(order('cat $MOORAGE_ARTIFACT_A', { a: file }))).output).toBe('mine\n');
  });

  itWhere(
    root(),
    'I68 a plain process with a user of its own reads them, and does not change them',
    async () => {
      const file = serve('/read', Buffer.from('read\n'));
      const script =
        'cat $MOORAGE_ARTIFACT_A; chmod u+w $MOORAGE_ARTIFACT_A || echo other >$MOORAGE_ARTIFACT_A || echo held';
      expect((await world.run(order(script, { a: file }))).output).toBe('read\nheld\n');
    },
  );

  it('in a sandbox they can be read and not written', async () => {
    const file = serve('/shared', Buffer.from('shared\n'));
    const script = 'cat $MOORAGE_ARTIFACT_A; echo other >$MOORAGE_ARTIFACT_A && echo written';
    const { output } = await world.run(order(`${script}; true`, { a: file }, { driver: 'sandbox' }));
    expect(output).toBe('shared\n');
  });

  it('an archive is unpacked', async () => {
    const folder = join(world.folder.path, 'archive');
    mkdirSync(join(folder, 'sub'), { recursive: true });
    writeFileSync(join(folder, 'sub', 'x'), 'inside\n');
    const archive = { ...serve('/archive.tar', tarOf(folder, ['sub'])), unpack: true };
    for (const driver of ['exec', 'sandbox'] as const)
      expect(
        (await world.run(order('cat $MOORAGE_ARTIFACT_A/sub/x', { a: archive }, { driver }))).output,
      ).toBe('inside\n');
    expect(asked).toEqual(['/archive.tar']);
  });

  it('an archive whose links lead out of it writes nothing outside', async () => {
    const [first, second] = ['first', 'second'].map((name) => join(world.folder.path, name)) as [
      string,
      string,
    ];
    mkdirSync(first);
    symlinkSync(world.folder.path, join(first, 'out'));
    mkdirSync(join(second, 'out'), { recursive: true });
    writeFileSync(join(second, 'out', 'escaped'), 'escaped\n');
    // First a link, then a file below its name.
    const bytes = tarOf(first, ['out'], tarOf(second, ['out/escaped']));
    const { report } = await world.run(order('true', { a: { ...serve('/evil.tar', bytes), unpack: true } }));
    expect(report.reason).toMatch(/cannot unpack it: .*escaped/);
    expect(existsSync(join(world.folder.path, 'escaped'))).toBe(false);
  });

  const failures: readonly (readonly [string, () => Artifact, RegExp])[] = [
    [
      'other bytes',
      () => ({ ...serve('/wrong', Buffer.from('x')), sha256: '0'.repeat(64) }),
      /and not 0{64} as the job says/,
    ],
    [
      'a source that has it not',
      () => ({ source: `${base}/absent`, sha256: '1'.repeat(64), unpack: false }),
      /answered 404/,
    ],
    [
      'a redirect',
      () => ({ source: `${base}/moved`, sha256: '2'.repeat(64), unpack: false }),
      /answered 302/,
    ],
    [
      'a file of the host',
      () => ({ source: 'file:///etc/hostname', sha256: '3'.repeat(64), unpack: false }),
      /fetches nothing from there/,
    ],
    [
      'an address of the provider',
      () => ({ source: 'http://169.254.169.254/x', sha256: '4'.repeat(64), unpack: false }),
      /address of no artifact/,
    ],
    [
      'what is no archive',
      () => ({ ...serve('/text', Buffer.from('no archive')), unpack: true }),
      /cannot unpack it/,
    ],
  ];
  it.each(failures)('%s: the allocation fails, and says why', async (_name, artifact, why) => {
    const { report } = await world.run(order('true', { model: artifact() }));
    expect(report.state).toBe('failed');
    expect(report.reason).toMatch(/^task main lacks its artifact model: /);
    expect(report.reason).toMatch(why);
  });

  it('a stop while files are brought ends it at once', async () => {
    const id = await world.start(
      order('true', { a: { source: `${base}/cut`, sha256: '5'.repeat(64), unpack: false } }),
    );
    await world.until(id, (report) => report.state === 'preparing');
    expect((await world.stop(id)).state).toBe('killed');
  });
});

describeNeeding(null, 'fetching', () => {
  const fetchInto = async (source: string, bytesMax = 10_000) => {
    using folder = stateFolder();
    const files = artifactSource({ stateFolder: folder.path, allowed: [base, `file://${folder.path}/`] });
    writeFileSync(join(folder.path, 'here'), 'here');
    const here = source.replace('HERE', folder.path);
    return await files.fetch(here, 'cas/tmp/x', { bytesMax, signal: new AbortController().signal });
  };

  it('an answer that is cut off is no file', async () => {
    await expect(fetchInto(`${base}/cut`)).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('nobody there can be tried again', async () => {
    await expect(fetchInto(`${base.replace(/:\d+$/, ':1')}/x`)).rejects.toMatchObject({ code: 'refused' });
    using folder = stateFolder();
    const files = artifactSource({ stateFolder: folder.path, allowed: ['http://'] });
    const fetching = files.fetch('http://127.0.0.1:1/x', 'x', {
      bytesMax: 1,
      signal: new AbortController().signal,
    });
    await expect(fetching).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('a file that does not fit is refused as soon as that is known', async () => {
    const { source } = serve('/large', Buffer.alloc(5_000));
    await expect(fetchInto(source, 4_999)).rejects.toMatchObject({ code: 'full' });
    expect(await fetchInto(source, 5_000)).toMatchObject({ bytes: 5_000 });
  });

  it('files of this machine only below folders that are named', async () => {
    expect(await fetchInto('file://HERE/here')).toEqual({ sha256: sha256(Buffer.from('here')), bytes: 4 });
    await expect(fetchInto('file://HERE/../../etc/hostname')).rejects.toMatchObject({ code: 'refused' });
    await expect(fetchInto('file:///etc/hostname')).rejects.toMatchObject({ code: 'refused' });
  });
});
