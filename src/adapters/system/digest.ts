import { createHash } from 'node:crypto';
import type { Digest } from '../../ports/crypto.ts';

export const sha256Hex: Digest = (text) => createHash('sha256').update(text, 'utf8').digest('hex');
