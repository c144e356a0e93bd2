import type { ConnectionOptions, PeerCertificate, TlsOptions } from 'node:tls';
import { checkServerIdentity } from 'node:tls';
import type { IdentityRole } from '../../core/access/identity.ts';
import { identityIn } from './certified.ts';
import type { Credentials, KeyMaterial } from './credentials.ts';
import { OTHER_SERVER } from './pki.ts';

/** A caller that does not come to an end of its greeting holds a connection. */
const HANDSHAKE_TIMEOUT_MS = 3_000;

/** A server that answers nobody without a certificate of the cell's authority. */
export function serverTls(now: KeyMaterial) {
  return {
    ...{ ca: now.authorities, cert: now.certificate, key: now.key },
    ...{ requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' },
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  } satisfies TlsOptions;
}

export type ClientTls = Required<
  Pick<ConnectionOptions, 'secureContext' | 'minVersion' | 'checkServerIdentity'>
>;

/**
 * A client that shows its certificate, and takes the address of the server from the server's own.
 * @param to the role that must answer; undefined: any of the cell
 */
export function clientTls({ identity: { cell }, now }: Credentials, to: IdentityRole | undefined): ClientTls {
  return {
    secureContext: now.context,
    minVersion: 'TLSv1.3',
    checkServerIdentity: (host, certificate) =>
      checkServerIdentity(host, certificate) ?? wrongServer(cell, to, certificate),
  };
}

function wrongServer(
  cell: string,
  to: IdentityRole | undefined,
  { subjectaltname }: PeerCertificate,
): Error | undefined {
  const found = identityIn(subjectaltname);
  if (found?.cell === cell && (to === undefined || found.role === to)) return undefined;
  const who = found === null ? 'nobody of a cell' : `${found.role} ${found.id} of cell ${found.cell}`;
  const error = new Error(`its certificate is of ${who}, not of ${to ?? 'a role'} of cell ${cell}`);
  return Object.assign(error, { code: OTHER_SERVER });
}
