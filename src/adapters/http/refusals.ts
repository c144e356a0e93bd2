import type { Server } from 'node:http';

/** Refuses what the server would otherwise half accept: Node answers `Expect: 100-continue` before anybody looked at the length. */
export function refuseUnreadable(server: Server): void {
  server.on('checkContinue', (_request, response) => {
    response.writeHead(417, { connection: 'close' }).end();
  });
}
