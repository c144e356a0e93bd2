import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { removeAttempt } from '../../host-agent/tasks/attempt.ts';
import { nodeDisk } from '../../src/adapters/disk/disk.ts';
import { linuxProcesses } from '../../src/adapters/processes/processes.ts';
import {
  encodeFrame,
  FRAME_BYTES_MAX,
  FrameReader,
  stateFrom,
} from '../../src/wire/host-files/shim-frames.ts';
import { describeNeeding, itWhere, program, root } from '../support/needs.ts';
import type { TestFolder } from '../support/real-host.ts';
import { buildShim, stateFolder } from '../support/real-host.ts';
import { ShimWorld, until } from '../support/shim-world.ts';

const tools = stateFolder();
const native = buildShim(tools.path) ?? '';
const checked = buildShim(tools.path, 'sanitize') ?? native;
afterAll(() => tools[Symbol.dispose]());

const ATTEMPTS = 100;
const SHIMS_EACH = 3;

describeNeeding(program('cc'), 'what is done to the native shim', () => {
  it('I13 I23 of three shims at once for each of 100 attempts one runs it, and one end is told', async () => {
    const world = new ShimWorld({ kind: 'native', path: native });
    const rivals = Array.from({ length: SHIMS_EACH - 1 }, () =>
      linuxProcesses({ stateFolder: world.folder.path, shim: { kind: 'native', path: native } }),
    );
    const runs = join(world.folder.path, 'runs');
    const names = Array.from({ length: ATTEMPTS }, () =>
      world.prepare(['sh', '-c', `echo run >> ${runs}; exit 5`]),
    );
    await Promise.all(
      names.flatMap((name) => [world.processes, ...rivals].map((processes) => processes.startShim(name))),
    );
    for (const name of names) expect(await world.exit(name)).toMatchObject({ code: 5 });
    expect(readFileSync(runs, 'utf8')).toBe('run\n'.repeat(ATTEMPTS));
    await Promise.all(rivals.map((processes) => processes.close()));
    await world.close();
  });

  it('I21 an attempt that was fenced is never run', async () => {
    const world = new ShimWorld({ kind: 'native', path: native });
    const name = world.prepare(['touch', join(world.folder.path, 'ran')]);
    writeFileSync(world.pathOf(name, 'claim'), '{"fenced":true}');
    await world.processes.startShim(name);
    const next = await world.begin(['true']);
    await world.exit(next);
    expect(existsSync(join(world.folder.path, 'ran'))).toBe(false);
    writeFileSync(world.pathOf(name, 'exit'), '');
    await world.close();
  });

  it('I21 an attempt whose folder is being removed is never run, though its fence be gone already', async () => {
    const world = new ShimWorld({ kind: 'native', path: native });
    const name = world.prepare(['touch', join(world.folder.path, 'ran')]);
    const plain = nodeDisk(world.folder.path);
    const remove = async (path: string): Promise<void> => {
      // Of a folder the files go one after the other: here the claim is the first, and the shim comes at that moment.
      if (path.endsWith(name)) {
        await world.processes.startShim(name);
        expect(await world.exit(name)).toMatchObject({ execStep: 'launch: none, or too long' });
      }
      await plain.remove(path);
    };
    await removeAttempt({ list: (path) => plain.list(path), remove }, name);
    expect(existsSync(join(world.folder.path, 'ran'))).toBe(false);
    expect(existsSync(world.pathOf(name))).toBe(false);
    await world.close();
  });

  describe.each([
    ['plain', native],
    ['under sanitizers', checked],
  ])('%s', (_how, path) => {
    itWhere(
      root(),
      'I32 on a full disk it counts what it cannot keep, goes on, and still tells the end',
      async () => {
        await fillAndEnd(new ShimWorld({ kind: 'native', path }, tinyFolder()));
      },
    );
  });

  it('I16 keeps a deadline when all who asked for it are gone', async () => {
    const world = new ShimWorld({ kind: 'native', path: native });
    const name = await world.begin(['sleep', '1000'], { runMaxMs: 200 });
    await world.started(name);
    await world.processes.close();
    expect(await world.exit(name)).toMatchObject({ signal: 'SIGTERM', stoppedBy: 'run-max' });
    await world.close();
  });

  it('the spawner may be killed at any time: shims run on, and the next attempt has another', async () => {
    const world = new ShimWorld({ kind: 'native', path: native });
    const name = await world.begin(['sleep', '1000']);
    const before = await world.started(name);
    for (const pid of childrenOf(process.pid)) {
      if (!readFileSync(`/proc/${String(pid)}/cmdline`, 'utf8').includes(world.folder.path)) continue;
      process.kill(pid, 'SIGKILL');
      await until(() => !existsSync(`/proc/${String(pid)}`));
    }
    const next = world.prepare(['true']);
    // The first order may still go to the dead one; an agent asks again.
    await until(async () => {
      await world.processes.startShim(next).catch(() => undefined);
      return existsSync(world.pathOf(next, 'exit'));
    });
    expect(await world.exit(next)).toMatchObject({ code: 0 });
    const link = await world.link(name);
    expect(await link.state()).toMatchObject({ job: before.pid, jobStart: before.start });
    await world.close();
  });

  it('who only looks on does not keep the agent out', async () => {
    const world = new ShimWorld({ kind: 'native', path: native });
    const name = await world.begin(['sleep', '1000']);
    await world.started(name);
    const lookers = [];
    for (let i = 0; i < 40; i++) lookers.push(await socketTo(world, name));
    expect(await world.processes.killTree(name)).toBe(true);
    expect(await world.exit(name)).toMatchObject({ signal: 'SIGKILL' });
    for (const socket of lookers) socket.destroy();
    await world.close();
  });

  it('an order with wrong bytes in it ends with a word, whatever they are', async () => {
    const world = new ShimWorld({ kind: 'native', path: checked });
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.uint8Array({ maxLength: 3 }), fc.boolean(), async (at, wrong, cut) => {
        const name = world.prepare(['true']);
        const order = readFileSync(world.pathOf(name, 'launch'));
        const place = at % order.length;
        const rest = cut ? Buffer.alloc(0) : order.subarray(place + wrong.length);
        writeFileSync(world.pathOf(name, 'launch'), Buffer.concat([order.subarray(0, place), wrong, rest]));
        await world.processes.startShim(name);
        const exit = await world.exit(name);
        expect(exit.code ?? exit.execErrno).toBeTypeOf('number');
      }),
      { numRuns: 60 },
    );
    expect(world.complaints()).toEqual([]);
    await world.close();
  });

  it('S2.21 answers the HELLO of the first version, and NAK to what is not known', async () => {
    const world = new ShimWorld({ kind: 'native', path: checked });
    const name = await world.begin(['sleep', '1000']);
    const { pid } = await world.started(name);
    const old = await talk(world, name, [
      encodeFrame('H'),
      encodeFrame('z', [], Buffer.from('later')),
      encodeFrame('S'),
    ]);
    expect(old.map((frame) => frame.type)).toEqual(['h', 'n', 'n']);
    expect(old[0] === undefined ? null : stateFrom(old[0])).toMatchObject({
      version: 1,
      job: pid,
      done: false,
    });
    const [long] = await talk(world, name, [encodeFrame('q', [], Buffer.alloc(300_000))]);
    expect(long).toMatchObject({ type: 'n' });
    await world.close();
  });

  it('no bytes on its socket make it fall, leak, or touch its task', async () => {
    const world = new ShimWorld({ kind: 'native', path: checked });
    const name = await world.begin(['sleep', '1000'], { stdin: 'open' });
    const { pid, start } = await world.started(name);
    let frames = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(nonsense, { minLength: 30, maxLength: 60 }),
        fc.nat(200),
        async (pieces, cut) => {
          const bytes = Buffer.concat(pieces);
          fc.pre(!readsAsKill(bytes));
          frames += pieces.length;
          await pour(world, name, bytes, cut);
        },
      ),
      { numRuns: 80 },
    );
    expect(frames).toBeGreaterThan(2_000);
    const link = await world.link(name);
    const state = await link.state();
    expect(state).toMatchObject({ job: pid, jobStart: start, done: false, stopping: false });
    expect(state?.stdinNext).toBeGreaterThan(0);
    await link.killTree();
    expect(await world.exit(name)).toMatchObject({ signal: 'SIGKILL' });
    expect(world.complaints()).toEqual([]);
    await world.close();
  });
});

const TINY = 'size=320k,mode=700';

/** A folder on a disk of its own. */
function tinyFolder(): TestFolder {
  const { path, [Symbol.dispose]: remove } = stateFolder();
  const done = spawnSync('mount', ['-t', 'tmpfs', '-o', TINY, 'moorage-test', path], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(done.stderr);
  const dispose = (): void => {
    spawnSync('umount', ['--lazy', path]);
    remove();
  };
  return { path, [Symbol.dispose]: dispose };
}

/** The disk fills while the task prints, and then holds not one byte more. */
async function fillAndEnd(world: ShimWorld): Promise<void> {
  try {
    await fillWhilePrinting(world);
  } finally {
    await world.close();
  }
}

async function fillWhilePrinting(world: ShimWorld): Promise<void> {
  const large = await world.shell('head -c 2000000 /dev/zero; head -c 100 /dev/zero >&2', {
    ...{ segmentBytes: 65_536, segmentsMax: 8 },
  });
  const exit = await world.exit(large);
  expect(exit).toMatchObject({ code: 0, out: 2_000_000, err: 100 });
  expect(exit.dropped).toBeGreaterThan(100_000);
  const lost = (exit.holes ?? []).reduce((sum, { from, to }) => sum + to - from, 0);
  expect(lost).toBeGreaterThan(0);
  expect(lost).toBeLessThanOrEqual(exit.dropped ?? 0);
  rmSync(world.pathOf(large), { recursive: true });
  mkdirSync(world.pathOf(large), { recursive: true });
  const late = await world.shell('read go; echo printed; exit 8', { stdin: 'open' });
  const link = await world.link(late);
  fill(join(world.folder.path, 'filler'));
  await link.writeStdin(0, Buffer.from('go\n'));
  expect(await world.exit(late)).toMatchObject({ code: 8, out: 8, dropped: 8 });
  expect(world.complaints()).toEqual([]);
}

function fill(path: string): void {
  for (let bytes = 4_096; bytes >= 1;) {
    try {
      appendFileSync(path, Buffer.alloc(bytes));
    } catch {
      bytes = bytes >> 1;
    }
  }
}

/** Frames that no agent sends. Those that rightly end or signal a task are left out. */
const harmless = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(...'HIEWFLnatso'),
      fc.integer({ min: 0, max: 255 }).map((n) => String.fromCharCode(n)),
    ),
    fc.uint8Array({ maxLength: 100 }),
  )
  .filter(([type]) => !'KSR'.includes(type))
  .map(([type, payload]) => Buffer.from(encodeFrame(type, [], payload)));
const badSignal = fc
  .tuple(fc.nat(), fc.integer({ min: 65, max: 2 ** 31 }))
  .map(([sequence, number]) => Buffer.from(encodeFrame('S', [{ u64: sequence }, { u32: number }])));
const input = fc
  .tuple(fc.oneof(fc.constant(0), fc.nat(300_000)), fc.nat(70_000))
  .map(([offset, length]) => Buffer.from(encodeFrame('I', [{ u64: offset }], Buffer.alloc(length))));
/** A length that says something else than what follows: all after it is read as whatever it falls on. */
const mutated = fc
  .tuple(harmless, fc.nat(3), fc.integer({ min: 0, max: 255 }))
  .filter(([frame]) => !frame.subarray(4).some((byte) => 'KSR'.includes(String.fromCharCode(byte))))
  .map(([frame, at, byte]) => {
    const other = Buffer.from(frame);
    other[at] = byte;
    return other;
  });
const nonsense = fc.oneof(
  { arbitrary: harmless, weight: 6 },
  { arbitrary: badSignal, weight: 1 },
  { arbitrary: input, weight: 1 },
  { arbitrary: mutated, weight: 1 },
);

/** Once a length is wrong, what is read next may be an order to kill by mere chance, and is then rightly obeyed. */
function readsAsKill(bytes: Buffer): boolean {
  for (let at = 0; at + 5 <= bytes.length;) {
    const length = bytes.readUInt32LE(at);
    if (length < 1 || length > FRAME_BYTES_MAX) return false;
    if (bytes[at + 4] === 'K'.charCodeAt(0)) return true;
    at += 4 + length;
  }
  return false;
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

async function socketTo(world: ShimWorld, name: string): Promise<Socket> {
  const socket = connect({ path: world.pathOf(name, 'ctl') });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

/** Writes all of it in pieces, reads or does not read the answers, and leaves in the middle. */
async function pour(world: ShimWorld, name: string, bytes: Buffer, cut: number): Promise<void> {
  const socket = await socketTo(world, name);
  const over = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  if (cut % 2 === 0) socket.resume();
  for (let at = 0; at < bytes.length && !socket.destroyed; at += 1 + cut * 37) {
    const piece = bytes.subarray(at, at + 1 + cut * 37);
    if (cut % 2 === 0) await new Promise((resolve) => socket.write(piece, resolve));
    else socket.write(piece);
  }
  if (cut % 3 === 0) socket.end();
  else socket.destroy();
  socket.resume();
  await over;
}

async function talk(world: ShimWorld, name: string, frames: readonly Uint8Array[]) {
  const socket = await socketTo(world, name);
  const reader = new FrameReader();
  const answers: ReturnType<FrameReader['push']>[number][] = [];
  socket.on('data', (chunk: Buffer) => answers.push(...reader.push(chunk)));
  for (const frame of frames) socket.write(frame);
  await until(() => answers.length >= frames.length);
  socket.destroy();
  return answers;
}
