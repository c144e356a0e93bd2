import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Identity } from '../../core/access/identity.ts';
import { identityIn } from '../pki/certified.ts';

/** Timers take no longer delay; a connection that lives so long is opened anew, which does no harm. */
const TIMER_MAX_MS = 0x7fff_ffff;

/**
 * Who is at the other end of a server's connection, by its certificate; null: the server has no credentials; undefined:
 * nobody of this cell, though the authority signed the certificate.
 */
export type CallerOf = (socket: Duplex) => Identity | null | undefined;

export const anybody: CallerOf = () => null;

/** Reads the certificate once for each connection, and ends the connection when the certificate ends. */
export function certifiedCallers(server: Server, cell: string): CallerOf {
  const callers = new WeakMap<Duplex, Identity>();
  server.on('secureConnection', (socket: TLSSocket) => {
    const certificate = socket.getPeerCertificate();
    const identity = identityIn(certificate.subjectaltname);
    if (identity?.cell === cell) callers.set(socket, identity);
    // A resumed connection does not show its certificate again: it may have expired meanwhile.
    const restMs = Date.parse(certificate.valid_to) - Date.now();
    if (!(restMs > 0)) return socket.destroy();
    const end = setTimeout(() => socket.destroy(), Math.min(restMs, TIMER_MAX_MS));
    end.unref();
    socket.once('close', () => clearTimeout(end));
  });
  return (socket) => callers.get(socket);
}
