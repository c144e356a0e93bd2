import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostKeyUri, secretLabel } from '../../core/access/secret.ts';
import type { OpenSecret } from '../../ports/crypto.ts';
import { errorCodeOf } from '../adapters.ts';
import { certificateOf, certificatesIn, isIssuedBy } from './certified.ts';
import type { Credentials } from './credentials.ts';
import { HOST_KEY_FILES } from './pki.ts';
import { seal, unseal } from './sealed-box.ts';

/**
 * The key to which a cell's secrets are sealed. All hosts have it, each in its credentials folder; monitors show its
 * certificate, by which people's programs know that it is the hosts'.
 */

/** @returns null: this host has not got the key, so that no secret can be brought to it */
export function secretOpener({ folder, identity }: Credentials): OpenSecret | null {
  const pem = textOf(join(folder, HOST_KEY_FILES.secret));
  if (pem === null) return null;
  const key = createPrivateKey(pem);
  return ({ namespace, name }, sealed) =>
    unseal(key, sealed, secretLabel(identity.cell, namespace, name))?.toString('utf8') ?? null;
}

/** @returns null: this monitor has not got it. Read again each time, for it may be renewed */
export function hostKeyCertificate({ folder }: Credentials): string | null {
  return textOf(join(folder, HOST_KEY_FILES.certificate));
}

/** A certificate that is not of this cell's hosts, or not of the authority that is trusted. */
export class HostKeyError extends Error {
  override readonly name = 'HostKeyError';
}

/**
 * Seals a secret to the hosts of a cell.
 * @param shown what a monitor says is the certificate of their key
 * @param authorities that the caller trusts, as PEM
 * @throws HostKeyError when it is not
 */
export function sealSecret(
  value: string,
  { cell, namespace, name }: { readonly cell: string; readonly namespace: string; readonly name: string },
  {
    shown,
    authorities,
    nowMs,
  }: { readonly shown: string; readonly authorities: string; readonly nowMs: number },
): string {
  const certificate = certificateOf(shown);
  const isOfHosts = certificate?.subjectAltName === `URI:${hostKeyUri(cell)}`;
  const trusted = certificatesIn(authorities);
  if (certificate === null || !isOfHosts || !trusted.some((one) => isIssuedBy(certificate, one)))
    throw new HostKeyError(`what the monitor shows is no key of the hosts of cell ${cell}`);
  if (nowMs > Date.parse(certificate.validTo))
    throw new HostKeyError("the certificate of the hosts' key has ended");
  return seal(certificate.publicKey, Buffer.from(value), secretLabel(cell, namespace, name));
}

const HOST_KEY_LABEL = 'moorage-host-key';

/** For a host that joins: whoever brings it there cannot read it. @param certificate of the agent, as PEM */
export function sealHostKey(key: string, certificate: string): string {
  return seal(new X509Certificate(certificate).publicKey, Buffer.from(key), HOST_KEY_LABEL);
}

/** @param own the agent's private key, as PEM @returns null: it was sealed to another */
export function openHostKey(sealed: string, own: string): string | null {
  return unseal(createPrivateKey(own), sealed, HOST_KEY_LABEL)?.toString('utf8') ?? null;
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
