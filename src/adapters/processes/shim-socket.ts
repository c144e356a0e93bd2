import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

/** A shim whose queue of connections is full is busy. */
const BUSY_TRIES_MAX = 100;
const BUSY_WAIT_MS = 10;

/**
 * Connects to the shim in `folder`.
 * @returns null when no shim listens there
 */
export async function connectShim(folder: string): Promise<Socket | null> {
  // A socket's path has room for 107 bytes, and state folders may lie deep: go through the folder's descriptor.
  const handle = await open(folder, 'r').catch(() => null);
  if (handle === null) return null;
  try {
    for (let tries = 0; tries < BUSY_TRIES_MAX; tries++) {
      const socket = await connected(`/proc/self/fd/${String(handle.fd)}/ctl`);
      if (socket !== 'busy') return socket;
      await new Promise((next) => setTimeout(next, BUSY_WAIT_MS));
    }
    return null;
  } finally {
    await handle.close();
  }
}

function connected(path: string): Promise<Socket | 'busy' | null> {
  const socket = connect({ path });
  return new Promise((resolve) => {
    const fail = (error: NodeJS.ErrnoException): void => resolve(error.code === 'EAGAIN' ? 'busy' : null);
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      // The shim may end before the caller adds a listener, and an error without a listener ends the process.
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
  });
}
