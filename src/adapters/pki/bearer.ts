import type { SecureContext } from 'node:tls';
import { createSecureContext } from 'node:tls';
import type { Credentials } from './credentials.ts';

/** A person's token, which is shown to monitors of the cell and to nobody else. */
export interface Bearer {
  readonly token: string;
  /** The cell's, as PEM. */
  readonly authorities: string;
  /** Trusts them. */
  readonly context: SecureContext;
}

/** What a caller shows of itself: a certificate, or a token. */
export type Showing = Credentials | Bearer;

/** @param authorities certificates of the cell's authority, as PEM */
export function bearerOf(token: string, authorities: string): Bearer {
  return { token, authorities, context: createSecureContext({ ca: authorities, minVersion: 'TLSv1.3' }) };
}

/** The headers of a call by which it shows a token. */
export function headersOf(showing: Showing | undefined): Readonly<Record<string, string>> {
  return showing !== undefined && 'token' in showing ? { authorization: `Bearer ${showing.token}` } : {};
}
