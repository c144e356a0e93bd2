import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

/**
 * Connects to the shim in `folder`.
 * @returns null when no shim listens there
 */
export async function connectShim(folder: string): Promise<Socket | null> {
  // A socket's path has room for 107 bytes, and state folders may lie deep: go through the folder's descriptor.
  const handle = await open(folder, 'r').catch(() => null);
  if (handle === null) return null;
  try {
    return await connected(connect({ path: `/proc/self/fd/${String(handle.fd)}/ctl` }));
  } finally {
    await handle.close();
  }
}

function connected(socket: Socket): Promise<Socket | null> {
  return new Promise((resolve) => {
    const fail = (): void => resolve(null);
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
