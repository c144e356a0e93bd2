import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Caller } from '../../core/access/access.ts';
import type { AdmitToken, NotAdmitted } from '../../ports/http.ts';
import { CHANNEL_BEARER } from '../../ports/http.ts';
import { onAbort } from '../../ports/on-abort.ts';
import type { Problem } from '../../wire/api/problem.ts';
import { ProblemError } from '../../wire/api/problem.ts';
import { identityIn } from '../pki/certified.ts';
import { problemOfStatus } from './problem-reply.ts';

/** Timers take no longer delay; a connection that lives so long is opened anew, which does no harm. */
const TIMER_MAX_MS = 0x7fff_ffff;

/** Who makes a request. */
export interface Admitted {
  /** null: the server has no credentials. */
  readonly peer: Caller | null;
  /** Aborted when the caller's token ends; absent: it has a certificate, whose end is the connection's. */
  readonly ended?: AbortSignal;
}

/** @throws ProblemError 401 or 403: nobody of this cell; 503: that cannot be said now */
export type CallerOf = (request: IncomingMessage) => Admitted | Promise<Admitted>;

const TRUSTED: Admitted = { peer: null };

/** Who has not said who it is: it may use what is for anybody, and sees no namespace. */
export const NOBODY: Admitted = {
  peer: { role: 'person', id: 'nobody', name: 'nobody', scope: 'read', namespaces: [], endsAtMs: 0 },
};

export const anybody: CallerOf = () => TRUSTED;

/**
 * Reads the certificate once for each connection, and ends the connection when the certificate ends. A certificate counts
 * before a token.
 *
 * @param admit absent: whoever has no certificate gets no connection
 */
export function certifiedCallers(server: Server, cell: string, admit: AdmitToken | undefined): CallerOf {
  const known = new WeakMap<Duplex, Admitted>();
  /** Connections without a certificate that counts, and what is wrong with the one that was shown. */
  const nameless = new WeakMap<Duplex, { readonly wrong: string | null }>();
  server.on('secureConnection', (socket: TLSSocket) => {
    const certificate = socket.getPeerCertificate();
    if (Object.keys(certificate).length === 0) {
      if (admit === undefined) socket.destroy();
      else nameless.set(socket, { wrong: null });
      return;
    }
    if (!socket.authorized) {
      nameless.set(socket, { wrong: String(socket.authorizationError) });
      return;
    }
    const identity = identityIn(certificate.subjectaltname);
    if (identity?.cell === cell) known.set(socket, { peer: identity });
    // A resumed connection does not show its certificate again: it may have expired meanwhile.
    const restMs = Date.parse(certificate.valid_to) - Date.now();
    if (!(restMs > 0)) return socket.destroy();
    const end = setTimeout(() => socket.destroy(), Math.min(restMs, TIMER_MAX_MS));
    end.unref();
    socket.once('close', () => clearTimeout(end));
  });
  return (request) => {
    const certified = known.get(request.socket);
    if (certified !== undefined) return certified;
    const stranger = nameless.get(request.socket);
    if (admit === undefined || stranger === undefined) throw new ProblemError(problemOfStatus(403));
    if (stranger.wrong !== null) throw wrongCertificate(stranger.wrong);
    return admitted(admit, request);
  };
}

const BEARER = /^bearer +(\S+)$/i;

/** Of a channel the token may stand among the protocols: that is all that a browser can say of itself there. */
function tokenIn({ authorization, upgrade, ...headers }: IncomingHttpHeaders): string | undefined {
  const shown = BEARER.exec(authorization ?? '')?.[1];
  if (shown !== undefined || upgrade === undefined) return shown;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  return offered.find((one) => one.startsWith(CHANNEL_BEARER))?.slice(CHANNEL_BEARER.length);
}

async function admitted(admit: AdmitToken, { headers }: IncomingMessage): Promise<Admitted> {
  const token = tokenIn(headers);
  if (token === undefined) throw new ProblemError(problemOfStatus(401));
  const admission = await admit(token);
  if (admission === 'unknown') throw new ProblemError(UNKNOWN_TOKEN);
  if (admission === 'unsure') throw new ProblemError(UNSURE);
  if ('why' in admission) throw new ProblemError(refusalOf(admission));
  return { peer: admission.person, ended: admission.ended };
}

/**
 * Cuts what is open when the caller's token ends: an end in order would pass for the end of the task or of its output.
 * @returns forgets it
 */
export function cutAtEnd({ ended }: Admitted, cut: () => void): () => void {
  if (ended === undefined) return () => undefined;
  if (!ended.aborted) return onAbort(ended, cut);
  cut();
  return () => undefined;
}

function wrongCertificate(why: string): ProblemError {
  return new ProblemError({
    ...{
      status: 401,
      code: 'bad-certificate',
      detail: `the certificate that was shown does not count: ${why}`,
    },
    hint: 'moorage pki issue AUTHORITY --role operator --id NAME',
  });
}

/** One text for all reasons. */
const UNKNOWN_TOKEN = {
  ...{ status: 401, code: 'bad-token', detail: 'this token was never made, has ended, or was revoked' },
  hint: 'moorage login, with another token',
};

/** Of a token that an OpenID provider made: whoever shows it can do something about it. */
function refusalOf({ why, isSure }: NotAdmitted): Problem {
  const detail = `this token ${why}`;
  if (isSure) return { status: 401, code: 'bad-token', detail, hint: 'moorage login, with another token' };
  return { status: 503, code: 'provider-away', detail, hint: 'ask again' };
}

const UNSURE = {
  ...{
    status: 503,
    code: 'store-away',
    detail: 'the store does not answer, and it must say whether this token counts',
  },
  hint: 'ask again',
};
