import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** Keys from their raw bytes, as test vectors give them. */
export function publicKeyOf(rawHex: string): KeyObject {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(rawHex, 'hex')]);
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

export function secretKeyOf(seedHex: string): KeyObject {
  const der = Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    Buffer.from(seedHex, 'hex'),
  ]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

const SEED = 'b4cbfb43df4ce210727d953e4a713307fa19bb7d9f85041438d9e11b942a3774';
const OTHER_SEED = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';

function pairOf(id: string, seed: string) {
  const secret = secretKeyOf(seed);
  return { signing: { id, secret }, pinned: { id, public: createPublicKey(secret) } };
}

/** The pair of the published vectors, under a name of our own. */
export const TICKET_KEYS = pairOf('0123456789abcdef', SEED);
/** Another pair, as of a stranger or after a rotation. */
export const OTHER_KEYS = pairOf('fedcba9876543210', OTHER_SEED);
