import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';

/** One that was free a moment ago: for programs that cannot say which one they took. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
