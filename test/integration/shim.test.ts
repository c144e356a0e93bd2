import { appendFileSync, readFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import type { ShimProgram } from '../../src/adapters/processes/processes.ts';
import { describeNeeding } from '../support/needs.ts';
import { buildShim, PLAIN_SHIM, stateFolder } from '../support/real-host.ts';
import { ShimWorld, until } from '../support/shim-world.ts';

const tools = stateFolder();
const native = buildShim(tools.path);
const checked = buildShim(tools.path, 'sanitize');
afterAll(() => tools[Symbol.dispose]());

type Kind = readonly [name: string, shim: ShimProgram | null];
const KINDS: readonly Kind[] = [
  ['the native shim', native === null ? null : { kind: 'native', path: native }],
  ['the native shim under sanitizers', checked === null ? null : { kind: 'native', path: checked }],
  ['the shim in TypeScript', PLAIN_SHIM],
];

for (const [kind, shim] of KINDS)
  describeNeeding(shim === null ? 'there is no C compiler (cc) with its sanitizers' : null, kind, () => {
    if (shim !== null) holds(kind, shim);
  });

/** A shell has said by then what shall become of its signals. */
const UNTIL_DEAF_MS = 3_000;

function holds(kind: string, shim: ShimProgram): void {
  const world = new ShimWorld(shim);
  const isNative = shim.kind === 'native';
  afterAll(() => world.close());

  it('I23 says how a task ended: code, signal, or why it could not run', async () => {
    const names = await Promise.all([
      world.shell('echo out; echo err >&2; exit 42'),
      world.shell('kill -SEGV $$'),
      world.begin(['/no/such/command']),
      world.begin(['true'], { cwd: '/no/such/folder' }),
      world.begin(['no-such-command'], { oomScoreAdj: 300 }),
      world.shell('cat /proc/self/oom_score_adj; exit 6', { oomScoreAdj: 300 }),
    ]);
    const [code, signal, missing, nowhere, unknown, scored] = await Promise.all(
      names.map((name) => world.exit(name)),
    );
    expect(code).toMatchObject({ code: 42, out: 4, err: 4, dropped: 0, cutShort: false, by: 'shim' });
    expect(code?.usage?.maxRssKib ?? 0).toBeGreaterThan(isNative ? 0 : -1);
    expect(signal).toMatchObject({ signal: 'SIGSEGV' });
    expect([missing, unknown]).toMatchObject([{ execErrno: 2 }, { execErrno: 2 }]);
    expect(scored).toMatchObject({ code: 6, out: 4 });
    expect(nowhere).toMatchObject({ execErrno: 2 });
    if (isNative) expect(nowhere?.execStep).toBe('cwd /no/such/folder');
    expect(world.output(names[0] ?? '', 'stderr').toString()).toBe('err\n');
  });

  it('S2.4 takes stdin by offset: known bytes are ignored, gaps refused, the end said once', async () => {
    const name = await world.begin(['cat'], { stdin: 'open' });
    const link = await world.link(name);
    const bytes = Buffer.from('hello world\n');
    expect(await link.writeStdin(3, bytes)).toEqual({ next: 0, refused: 'gap' });
    expect(await link.writeStdin(0, bytes.subarray(0, 5))).toEqual({ next: 5 });
    expect(await link.writeStdin(0, bytes)).toEqual({ next: 12 });
    expect(await link.writeStdin(2, bytes.subarray(2, 7))).toEqual({ next: 12 });
    expect(await link.endStdin(13)).toEqual({ next: 12, refused: 'gap' });
    expect(await link.state()).toMatchObject({ version: 2, stdinOpen: true, stdinNext: 12, pty: false });
    expect(await link.endStdin(12)).toEqual({ next: 12 });
    expect(await world.exit(name)).toMatchObject({ code: 0, out: 12 });
    await link.ended;
    expect(world.output(name).toString()).toBe('hello world\n');
  });

  it('S2.5 a task that does not read holds its writer back, and nothing is lost', async () => {
    const name = await world.begin(['sleep', '1000'], { stdin: 'open' });
    const link = await world.link(name);
    const chunk = Buffer.alloc(65_536, 'x');
    let next = 0;
    for (;;) {
      const answer = await link.writeStdin(next, chunk);
      if (answer === null || answer.next === next) break;
      next = answer.next;
    }
    // Its own 256 KiB and the pipe's 64; Node's pipes are sockets, and take more.
    expect(next).toBeLessThanOrEqual((isNative ? 320 : 512) * 1024);
    expect(next).toBeGreaterThanOrEqual(256 * 1024);
    await link.killTree();
    expect(await world.exit(name)).toMatchObject({ signal: 'SIGKILL' });
    link.close();
  });

  it('S2.16 sends each signal once by its sequence, and tells the result again', async () => {
    const script =
      'trap "echo usr1" USR1; trap "echo term; exit 7" TERM; echo ready; while :; do sleep 0.01; done';
    const name = await world.shell(script);
    await world.printed(name, 'ready');
    const link = await world.link(name);
    expect(await link.signal('SIGUSR1', 5)).toBe(0);
    expect(await link.signal('SIGUSR1', 5)).toBe(0);
    expect(await link.signal('SIGUSR1', 4)).not.toBe(0);
    await world.printed(name, 'usr1\n');
    expect(await world.processes.signal(name, 'SIGTERM', 6)).toBe(true);
    expect(await world.exit(name)).toMatchObject({ code: 7 });
    expect(world.output(name).toString()).toBe('ready\nusr1\nterm\n');
    link.close();
  });

  it('keeps the newest files of output, at their true offsets', async () => {
    const name = await world.shell('i=0; while [ $i -lt 1000 ]; do echo 123456789; i=$((i+1)); done', {
      ...{ outBase: 7, segmentBytes: 1000, segmentsMax: 3 },
    });
    expect(await world.exit(name)).toMatchObject({ out: 10_007, dropped: 0 });
    const kept = world.output(name);
    expect(kept.length).toBeGreaterThan(1000);
    expect(kept.length).toBeLessThanOrEqual(3000);
    expect(kept.toString()).toMatch(/^(\d{0,9}\n)?(123456789\n)+$/);
  });

  it('does not wait for who holds the output after the task, and kills it', async () => {
    const name = await world.shell('setsid sleep 1000 & echo $!');
    const exit = await world.exit(name);
    expect(exit).toMatchObject({ code: 0, cutShort: true, left: 0 });
    const pid = Number(world.output(name).toString());
    await until(() => !isRunning(pid));
  });

  it('I16 stops a task at its own deadline, with nobody there: asked first, then killed', async () => {
    const stubborn = await world.shell('trap "" TERM; echo on; while :; do sleep 0.05; done', {
      ...{ runMaxMs: UNTIL_DEAF_MS, stop: { signal: 'SIGTERM', graceMs: 200 } },
    });
    const polite = await world.shell('trap "exit 3" INT; while :; do sleep 0.05; done', {
      ...{ runMaxMs: UNTIL_DEAF_MS, stop: { signal: 'SIGINT', graceMs: 20_000 } },
    });
    expect(await world.exit(stubborn)).toMatchObject({ signal: 'SIGKILL', stoppedBy: 'run-max' });
    expect(await world.exit(polite)).toMatchObject({ code: 3, stoppedBy: 'run-max' });
    // Said before the first signal, so that no kill is without a reason.
    for (const name of [stubborn, polite])
      expect(readFileSync(world.pathOf(name, 'stopping'), 'utf8')).toContain('"why":"run-max"');
  });

  it('I16 stops a task when nobody renews, and not while somebody does', async () => {
    const name = await world.begin(['sleep', '1000'], { stopAfterDisconnectMs: 60_000 });
    const link = await world.link(name);
    expect((await link.state())?.disconnectLeftMs ?? 0).toBeGreaterThan(30_000);
    await link.renew(null);
    expect(await link.state()).toMatchObject({ disconnectLeftMs: null, runLeftMs: null });
    await link.renew(100);
    expect(await world.exit(name)).toMatchObject({ signal: 'SIGTERM', stoppedBy: 'disconnect' });
    link.close();
  });

  it('S2.7 pushes output to who follows, from the offset that it names', async () => {
    const name = await world.begin(['cat'], { stdin: 'open' });
    const link = await world.link(name);
    await link.writeStdin(0, Buffer.from('before'));
    await world.printed(name, 'before');
    const pieces: string[] = [];
    const from = await link.tail((piece) => {
      pieces.push(`${piece.stream}@${String(piece.offset)}:${Buffer.from(piece.bytes).toString()}`);
    });
    expect(from).toEqual({ out: 6, err: 0 });
    await link.writeStdin(6, Buffer.from('after'));
    await until(() => pieces.length > 0);
    expect(pieces).toEqual(['stdout@6:after']);
    await link.endStdin(11);
    await world.exit(name);
    link.close();
  });

  it('S2.8 I34 runs a command inside a task once for each id, whoever asks', async () => {
    const task = await world.shell('echo up; exec sleep 1000', { env: { OF_TASK: 'yes' } });
    await world.printed(task, 'up');
    const order = { command: ['sh', '-c', 'echo "$OF_TASK $OWN"; cat; exit 9'], env: { OWN: 'mine' } };
    const open = { ...order, stdin: 'open' as const };
    const names = await Promise.all([1, 2, 3].map(() => world.processes.exec(task, 'cmd-1', open)));
    const name = names[0] ?? '';
    expect(names).toEqual([name, name, name]);
    const link = await world.link(name);
    await link.writeStdin(0, Buffer.from('fed'));
    await link.endStdin(3);
    expect(await world.exit(name)).toMatchObject({ code: 9 });
    expect(world.output(name).toString()).toBe('yes mine\nfed');
    expect(await world.processes.exec(task, 'cmd-1', { command: ['false'] })).toBe(name);
    expect(await world.exit(name)).toMatchObject({ code: 9 });
    await world.processes.killTree(task);
    await world.exit(task);
    expect(await world.processes.exec(task, 'cmd-2', open)).toBeNull();
  });

  it('I13 a command inside a task dies with the task', async () => {
    const task = await world.shell('echo up; exec sleep 1000');
    await world.printed(task, 'up');
    const name = (await world.processes.exec(task, 'c', { command: ['sleep', '1000'] })) ?? '';
    await world.started(name);
    await world.processes.killTree(task);
    expect(await world.exit(task)).toMatchObject({ signal: 'SIGKILL' });
    expect(await world.exit(name)).toMatchObject({ signal: 'SIGKILL' });
  });

  it('I13 I35 the end of a command ends no command of another task that has the same id', async () => {
    const [one, other] = [await world.shell('echo up; sleep 1000'), await world.shell('echo up; sleep 1000')];
    await Promise.all([one, other].map((task) => world.printed(task, 'up')));
    const lasting =
      (await world.processes.exec(one, 'same', {
        command: ['sh', '-c', 'read line; exit 5'],
        stdin: 'open',
      })) ?? '';
    await world.started(lasting);
    const short = (await world.processes.exec(other, 'same', { command: ['true'] })) ?? '';
    expect(await world.exit(short)).toMatchObject({ code: 0 });
    const link = await world.link(lasting);
    await link.writeStdin(0, Buffer.from('on\n'));
    expect(await world.exit(lasting)).toMatchObject({ code: 5 });
    link.close();
    for (const task of [one, other]) await world.processes.killTree(task);
    await Promise.all([one, other].map((task) => world.exit(task)));
  });

  it('an order with a word that it does not know is refused, not half obeyed', async () => {
    const name = world.prepare(['true']);
    appendFileSync(world.pathOf(name, 'launch'), 'memory.max\x001\0');
    await world.processes.startShim(name);
    expect(await world.exit(name)).toMatchObject({ execErrno: 22 });
  });

  it.runIf(isNative)('leaves nothing for the sanitizers to complain of', () => {
    expect([kind, ...world.complaints()]).toEqual([kind]);
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
