import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLink } from '../../../../src/adapters/processes/shim-link.ts';
import type { Frame } from '../../../../src/wire/host-files/shim-frames.ts';
import { encodeFrame, encodeState, FrameReader } from '../../../../src/wire/host-files/shim-frames.ts';

const STATE = encodeState({
  ...{ version: 2, pid: 5, job: 6, jobStart: 7, done: false, stdinOpen: true, pty: false, frozen: false },
  ...{ stopping: false, stdinNext: 0, signalSequence: 0, runLeftMs: null, disconnectLeftMs: null },
  ...{ out: 0, err: 0, rows: 0, columns: 0 },
});
const { ENOTSUP } = constants.errno;

describe('a link to a shim', () => {
  let folder: string;
  let server: Server | null = null;
  const sockets = new Set<Socket>();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moorage-link-'));
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((done) => (server === null ? done() : server.close(() => done())));
    server = null;
    rmSync(folder, { recursive: true, force: true });
  });

  /** Stands in for a shim. @param answer what it says to a frame; null: it hangs up */
  const serve = async (answer: (frame: Frame) => Uint8Array | null): Promise<void> => {
    const made = createServer((socket) => {
      sockets.add(socket);
      const reader = new FrameReader();
      socket.on('error', () => socket.destroy());
      socket.on('data', (chunk: Buffer) => {
        for (const frame of reader.push(chunk)) {
          const said = answer(frame);
          if (said === null) socket.destroy();
          else socket.write(said);
        }
      });
    });
    server = made;
    await new Promise<void>((done) => made.listen(join(folder, 'ctl'), done));
  };

  it('there is none without a listener', async () => {
    expect(await openLink(folder)).toBeNull();
    expect(await openLink(join(folder, 'no-such-folder'))).toBeNull();
  });

  it('S2.21 a shim of the first version gets signals and kill, and no more', async () => {
    const first = (frame: Frame): Uint8Array => {
      if (frame.type === 'H') return encodeFrame('h', [{ u64: 77 }, { u8: 0 }]);
      if (frame.type === 'S') return encodeFrame('s', [{ u64: 1 }, { u32: 3 }]);
      if (frame.type === 'K') return encodeFrame('k', [{ u32: 0 }]);
      return encodeFrame('n');
    };
    await serve(first);
    const link = await openLink(folder);
    expect(await link?.state()).toMatchObject({ version: 1, job: 77 });
    expect(await link?.signal('SIGTERM', 1)).toBe(3);
    expect(await link?.killTree()).toBe(0);
    expect(await link?.writeStdin(0, new Uint8Array(1))).toEqual({ next: 0, refused: 'unsupported' });
    expect(await link?.renew(1_000)).toBe(ENOTSUP);
    expect(await link?.freeze(true)).toBe(ENOTSUP);
    expect(await link?.tail(() => undefined)).toBeNull();
    link?.close();
  });

  it('a shim that goes away while it is asked leaves the answer open, and the link ends', async () => {
    await serve((frame) => (frame.type === 'H' ? STATE : null));
    const link = await openLink(folder);
    const asked = await Promise.all([link?.signal('SIGTERM', 1), link?.killTree()]);
    expect(asked).toEqual([null, null]);
    await link?.ended;
    expect(await link?.state()).toBeNull();
  });

  it('who answers with what is no frame is no shim', async () => {
    await serve(() => new Uint8Array(16));
    expect(await openLink(folder)).toBeNull();
  });

  it('answers come to who asked, in order, with output pushed in between', async () => {
    const push = encodeFrame('o', [{ u8: 1 }, { u64: 9 }], Buffer.from('err'));
    await serve((frame) => {
      if (frame.type === 'H') return STATE;
      if (frame.type === 'L') return Buffer.concat([encodeFrame('l', [{ u64: 1 }, { u64: 9 }]), push]);
      return Buffer.concat([push, encodeFrame('s', [{ u64: 1 }, { u32: frame.payload[0] ?? 0 }])]);
    });
    const link = await openLink(folder);
    const pieces: string[] = [];
    expect(await link?.tail(({ stream, offset }) => pieces.push(`${stream}@${String(offset)}`))).toEqual({
      ...{ out: 1, err: 9 },
    });
    expect(await Promise.all([link?.signal('SIGHUP', 4), link?.signal('SIGHUP', 5)])).toEqual([4, 5]);
    expect(pieces).toEqual(['stderr@9', 'stderr@9', 'stderr@9']);
    link?.close();
  });
});
