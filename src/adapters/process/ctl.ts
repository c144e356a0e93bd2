import { open } from 'node:fs/promises';
import { connect } from 'node:net';
import { constants } from 'node:os';

/** A shim that does not answer within this time is stuck in the kernel; whoever asked looks again later. */
const ANSWER_TIMEOUT_MS = 2_000;

/** Frames of `shim.c`: u32 length of what follows, u8 type, payload. */
export function signalFrame(sequence: number, signal: string): Buffer {
  const number = constants.signals[signal as NodeJS.Signals];
  if (number === undefined) throw new Error(`this system has no signal ${signal}`);
  const frame = Buffer.alloc(17);
  frame.writeUInt32LE(13, 0);
  frame.write('S', 4);
  frame.writeBigUInt64LE(BigInt(sequence), 5);
  frame.writeUInt32LE(number, 13);
  return frame;
}

export const KILL_FRAME = bareFrame('K');
export const HELLO_FRAME = bareFrame('H');

function bareFrame(type: string): Buffer {
  return Buffer.from([1, 0, 0, 0, type.charCodeAt(0)]);
}

/**
 * Sends one frame to the shim in `folder` and waits for its answer.
 * @returns false when no shim listens there
 */
export async function tellShim(folder: string, frame: Buffer): Promise<boolean> {
  // A socket's path has room for 107 bytes, and state folders may lie deep: go through the folder's descriptor.
  const handle = await open(folder, 'r').catch(() => null);
  if (handle === null) return false;
  try {
    return await exchange(`/proc/self/fd/${String(handle.fd)}/ctl`, frame);
  } finally {
    await handle.close();
  }
}

function exchange(path: string, frame: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const end = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => end(false));
    socket.once('connect', () => socket.write(frame));
    socket.once('data', () => end(true));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
  });
}
