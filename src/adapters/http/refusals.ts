import type { Server } from 'node:http';

/**
 * Refuses what the server would otherwise half accept: Node answers `Expect: 100-continue` before anybody looked at the
 * length, and takes an upgrade (h2c) for plain HTTP.
 */
export function refuseUnreadable(server: Server): void {
  server.on('checkContinue', (_request, response) => {
    response.writeHead(417, { connection: 'close' }).end();
  });
  server.on('upgrade', (_request, socket) => {
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  });
}
