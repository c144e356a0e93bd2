import { constants } from 'node:crypto';
import type { ConnectionOptions, PeerCertificate, TlsOptions } from 'node:tls';
import { checkServerIdentity } from 'node:tls';
import type { IdentityRole } from '../../core/access/identity.ts';
import { identityIn } from './certified.ts';
import type { Showing } from './bearer.ts';
import type { KeyMaterial } from './credentials.ts';
import { OTHER_SERVER } from './pki.ts';

/** A caller that does not come to an end of its handshake holds a connection. */
const HANDSHAKE_TIMEOUT_MS = 3_000;

/**
 * A server that answers nobody without a certificate of the cell's authority.
 * @param takesTokens it asks for a certificate, and looks itself at what comes: people have none. It shows its authority
 *   too: a machine that joins knows that by its fingerprint
 */
export function serverTls(now: KeyMaterial, takesTokens = false) {
  return {
    ...{ ca: now.authorities, key: now.key },
    cert: takesTokens ? `${now.certificate}${now.authorities}` : now.certificate,
    ...{ requestCert: true, rejectUnauthorized: !takesTokens, minVersion: 'TLSv1.3' },
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    // Roles resume no session (`http/client.ts`), and tickets for it take a tenth of a handshake's processor time. People's
    // programs may.
    ...(takesTokens ? {} : { secureOptions: constants.SSL_OP_NO_TICKET }),
  } satisfies TlsOptions;
}

export type ClientTls = Required<
  Pick<ConnectionOptions, 'secureContext' | 'minVersion' | 'checkServerIdentity'>
>;

/**
 * A client that shows its certificate, if it has one, and takes the address of the server from the server's own.
 * @param to the role that must answer; undefined: any of the cell; a token is for monitors alone
 */
export function clientTls(showing: Showing, to: IdentityRole | undefined): ClientTls {
  const [secureContext, cell, role] =
    'token' in showing
      ? ([showing.context, null, 'monitor'] as const)
      : ([showing.now.context, showing.identity.cell, to] as const);
  return {
    secureContext,
    minVersion: 'TLSv1.3',
    checkServerIdentity: (host, certificate) =>
      checkServerIdentity(host, certificate) ?? wrongServer(cell, role, certificate),
  };
}

/** @param cell null: that of the authority */
function wrongServer(
  cell: string | null,
  to: IdentityRole | undefined,
  { subjectaltname }: PeerCertificate,
): Error | undefined {
  const found = identityIn(subjectaltname);
  if (found !== null && (cell === null || found.cell === cell) && (to === undefined || found.role === to))
    return undefined;
  const who = found === null ? 'nobody of a cell' : `${found.role} ${found.id} of cell ${found.cell}`;
  const error = new Error(
    `its certificate is of ${who}, not of ${to ?? 'a role'}${cell === null ? '' : ` of cell ${cell}`}`,
  );
  return Object.assign(error, { code: OTHER_SERVER });
}
