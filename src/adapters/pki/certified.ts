import { X509Certificate } from 'node:crypto';
import type { Identity } from '../../core/access/identity.ts';
import { readIdentity } from '../../core/access/identity.ts';

/**
 * The one identity among the names of a certificate.
 * @param names as Node writes them: `URI:spiffe://dev/scheduler/s1, IP Address:127.0.0.1`
 * @returns null when there is none, or more than one
 */
export function identityIn(names: string | undefined): Identity | null {
  const uris = (names ?? '')
    .split(', ')
    .filter((name) => name.startsWith('URI:'))
    .map((name) => name.slice('URI:'.length));
  const [uri, ...more] = uris;
  return uri === undefined || more.length > 0 ? null : readIdentity(uri);
}

export function identityOf(certificate: X509Certificate): Identity | null {
  return identityIn(certificate.subjectAltName);
}

/** @param text any number of certificates, as PEM */
export function certificatesIn(text: string): readonly X509Certificate[] {
  const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return pems.map((pem) => new X509Certificate(pem));
}

/** SHA-256 of each. */
export function fingerprintsIn(text: string): readonly string[] {
  return certificatesIn(text).map(({ fingerprint256 }) => fingerprint256);
}

/** The addresses and names at which its holder serves. */
export function hostsIn(certificate: X509Certificate | string): readonly string[] {
  const { subjectAltName = '' } =
    typeof certificate === 'string' ? new X509Certificate(certificate) : certificate;
  return subjectAltName
    .split(', ')
    .filter((name) => !name.startsWith('URI:'))
    .map((name) => name.slice(name.indexOf(':') + 1));
}

export function certificateOf(bytes: string | Buffer): X509Certificate | null {
  try {
    return new X509Certificate(bytes);
  } catch {
    return null;
  }
}

export function isIssuedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}
