import { createPublicKey, sign, verify, X509Certificate } from 'node:crypto';
import type { Bundle, KeyRequest, SignedBundle } from '../../core/access/invitation.ts';
import { bundleCodec } from '../../wire/records/records.ts';
import { certificatesIn } from './certified.ts';
import { CredentialsError } from './pki.ts';

/** A bundle that its holder takes from whoever brings it: the authority's key signed the whole of it. */
export function signBundle(bundle: Bundle, authorityKey: string): SignedBundle {
  const text = bundleCodec.encode(bundle);
  return { text, signature: sign('sha256', Buffer.from(text), authorityKey).toString('base64') };
}

/**
 * @param authorities those whom the reader trusts, as PEM
 * @throws CredentialsError when none of them signed it
 */
export function openBundle({ text, signature }: SignedBundle, authorities: string): Bundle {
  const bytes = Buffer.from(signature, 'base64');
  const isSigned = certificatesIn(authorities).some(({ publicKey }) =>
    verify('sha256', Buffer.from(text), publicKey, bytes),
  );
  if (!isSigned) throw new CredentialsError('what came is not signed by the authority');
  return bundleCodec.decode(text);
}

/** A key for the machine that is to have the certificate: nobody else ever has it. @param key its private half, as PEM */
export function requestFor(key: string, invitation: string): KeyRequest {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
  return { publicKey, proof: sign('sha256', Buffer.from(invitation), key).toString('base64') };
}

/** Whether who asks holds the key. */
export function isProved({ publicKey, proof }: KeyRequest, invitation: string): boolean {
  try {
    return verify('sha256', Buffer.from(invitation), publicKey, Buffer.from(proof, 'base64'));
  } catch {
    // It is no key at all.
    return false;
  }
}

/** Whether the certificate is of this key. @param key private, as PEM */
export function isOfKey(certificate: string, key: string): boolean {
  const own = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' }).equals(own);
}
