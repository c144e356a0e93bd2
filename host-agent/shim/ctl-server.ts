import type { Server } from 'node:net';
import { createServer } from 'node:net';
import { constants } from 'node:os';

/** Sends the task's group a signal. @returns the system's error number, 0 when it was sent */
export type SendSignal = (signal: number) => number;

/** The longest frame: a signal. */
const FRAME_BYTES_MAX = 60;

/** The shim's side of the frames described in `shim.c`, on the socket `ctl` of the working folder. */
export function serveCtl(pid: number, send: SendSignal): Server {
  let lastSequence = 0n;
  let lastResult = 0;
  const obey = (type: string, payload: Buffer): Buffer => {
    if (type === 'H') return frame('h', u64(BigInt(pid)), Buffer.from([0]));
    if (type === 'K') return frame('k', i32(send(constants.signals.SIGKILL)));
    if (type !== 'S' || payload.length !== 12) return frame('n');
    const sequence = payload.readBigUInt64LE(0);
    if (sequence > lastSequence) {
      lastSequence = sequence;
      lastResult = send(payload.readUInt32LE(8));
    }
    return frame('s', u64(sequence), i32(lastResult));
  };
  const server = createServer((socket) => {
    let waiting = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      waiting = Buffer.concat([waiting, chunk]);
      while (waiting.length >= 5) {
        const length = waiting.readUInt32LE(0);
        if (length < 1 || length > FRAME_BYTES_MAX) return void socket.destroy();
        if (waiting.length < 4 + length) return;
        socket.write(obey(String.fromCharCode(waiting.readUInt8(4)), waiting.subarray(5, 4 + length)));
        waiting = waiting.subarray(4 + length);
      }
    });
  });
  server.listen('ctl');
  return server;
}

function frame(type: string, ...payload: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from(type), ...payload]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([length, body]);
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
