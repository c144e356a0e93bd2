import type { KeyObject } from 'node:crypto';
import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
} from 'node:crypto';

/**
 * Sealed to a key of P-256, of which a cell's certificates are, so that a certificate can name it: a key pair made for this
 * one message, ECDH, HKDF-SHA256, AES-256-GCM.
 *
 *     moorage-sealed-1 . <public key of the message> . <what was sealed, and its tag>
 */

const HEAD = 'moorage-sealed-1';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param label must be the same for who opens it */
export function seal(recipient: KeyObject, plain: Uint8Array, label: string): string {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const own = publicKey.export({ type: 'spki', format: 'der' });
  const { key, nonce } = keysOf(diffieHellman({ privateKey, publicKey: recipient }), own, recipient);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(label));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return [HEAD, own.toString('base64url'), sealed.toString('base64url')].join('.');
}

/** @returns null: it was not sealed to this key with this label */
export function unseal(secret: KeyObject, text: string, label: string): Buffer | null {
  const [head, ownText = '', sealedText = '', ...more] = text.split('.');
  const own = Buffer.from(ownText, 'base64url');
  const sealed = Buffer.from(sealedText, 'base64url');
  if (head !== HEAD || more.length > 0 || sealed.length < TAG_BYTES) return null;
  try {
    const publicKey = createPublicKey({ key: own, type: 'spki', format: 'der' });
    const shared = diffieHellman({ privateKey: secret, publicKey });
    const { key, nonce } = keysOf(shared, own, createPublicKey(secret));
    const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(-TAG_BYTES));
    return Buffer.concat([cipher.update(sealed.subarray(0, -TAG_BYTES)), cipher.final()]);
  } catch {
    // A key of another kind, a point that is none, or bytes that were altered.
    return null;
  }
}

/** Each message has a key of its own, and so a nonce that is used once. */
function keysOf(
  shared: Buffer,
  own: Buffer,
  recipient: KeyObject,
): { readonly key: Buffer; readonly nonce: Buffer } {
  const salt = Buffer.concat([own, recipient.export({ type: 'spki', format: 'der' })]);
  const bytes = Buffer.from(hkdfSync('sha256', shared, salt, HEAD, KEY_BYTES + NONCE_BYTES));
  return { key: bytes.subarray(0, KEY_BYTES), nonce: bytes.subarray(KEY_BYTES) };
}
