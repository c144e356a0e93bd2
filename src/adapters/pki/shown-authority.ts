import { connect } from 'node:tls';
import { CredentialsError } from './pki.ts';

const TIMEOUT_MS = 10_000;

/**
 * Asks a monitor for the certificate of its authority, and takes it for what its fingerprint says. Nothing is sent: who is at
 * the other end is not known yet.
 * @param fingerprints of the authorities that may be trusted
 * @returns the authority's certificate, as PEM
 * @throws CredentialsError when it is another one; an error of the connection
 */
export function shownAuthority(url: string, fingerprints: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    // What is looked at is the fingerprint; the connection is closed then, and the next one is checked as every other.
    const socket = connect({
      ...{ host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port || 443), minVersion: 'TLSv1.3' },
      rejectUnauthorized: false,
    });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`${url} does not answer`)));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const chain: string[] = [];
      let found: string | null = null;
      let at = socket.getPeerX509Certificate();
      while (at !== undefined && chain.length < CHAIN_MAX) {
        chain.push(at.fingerprint256);
        if (at.ca && fingerprints.includes(at.fingerprint256)) found = at.toString();
        at = at.issuerCertificate;
      }
      socket.destroy();
      if (found !== null) resolve(found);
      else
        reject(
          new CredentialsError(
            `the authority of ${url} is another one than the token names (${chain.at(-1) ?? 'none'})`,
          ),
        );
    });
  });
}

/** A leaf and its authority; what is longer is none of ours. */
const CHAIN_MAX = 4;
