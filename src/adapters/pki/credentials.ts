import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, unwatchFile, watchFile } from 'node:fs';
import { join } from 'node:path';
import type { SecureContext } from 'node:tls';
import { createSecureContext } from 'node:tls';
import { errorText } from '../../core/errors/errors.ts';
import type { Identity } from '../../core/access/identity.ts';
import type { Log } from '../../ports/telemetry.ts';
import { errorCodeOf } from '../adapters.ts';
import { identityOf } from './certified.ts';
import { CREDENTIAL_FILES, CredentialsError } from './pki.ts';

/** How often the files are looked at. A certificate is renewed hours before its end. */
const LOOK_MS = 5_000;

/** What a process shows and whom it trusts, at one time. */
export interface KeyMaterial {
  /** The certificates of the authorities that are trusted, as PEM. */
  readonly authorities: string;
  readonly certificate: string;
  readonly key: string;
  /** Made of them once, for many connections. */
  readonly context: SecureContext;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The credentials of one process. They are read again when their files change, without a restart. */
export interface Credentials {
  readonly identity: Identity;
  readonly folder: string;
  readonly now: KeyMaterial;
  /** @returns forgets the listener */
  onChange(listener: (now: KeyMaterial) => void): () => void;
  /** Reads the files again now, instead of at the next look. */
  reload(): void;
  /** Follows the files no more. */
  close(): void;
}

/**
 * Reads a credentials folder, and follows it for as long as the process lives.
 * @param log what is told of a renewal; null: a command, which most times does not live long enough for one. It follows nothing, and
 *   reads the files again when it needs the certificate late in its life.
 * @throws CredentialsError
 */
export function openCredentials(folder: string, log: Log | null): Credentials {
  const { identity, material } = readCredentials(folder);
  let now = material;
  let readMs = Date.now();
  const listeners = new Set<(now: KeyMaterial) => void>();
  const again = (): void => {
    try {
      const read = readCredentials(folder);
      if (read.material.certificate === now.certificate && read.material.authorities === now.authorities)
        return;
      if (!isSame(read.identity, identity))
        throw new CredentialsError(`${folder} holds the certificate of another identity now`);
      now = read.material;
      for (const listener of listeners) listener(now);
      log?.info({ notAfter: new Date(now.notAfterMs).toISOString() }, 'the credentials were renewed');
    } catch (error) {
      log?.error({ error: errorText(error) }, 'the changed credentials cannot be used; the last ones stay');
    }
  };
  /** Those who renew do so before half of the time has gone, by the clock on the wall, as the certificate has its times. */
  const isDue = (): boolean =>
    log === null && Date.now() - readMs > LOOK_MS && Date.now() > (now.notBeforeMs + now.notAfterMs) / 2;
  const files = Object.values(CREDENTIAL_FILES).map((name) => join(folder, name));
  if (log !== null)
    for (const file of files) watchFile(file, { interval: LOOK_MS, persistent: false }, again);
  return {
    ...{ identity, folder },
    get now() {
      if (isDue()) {
        readMs = Date.now();
        again();
      }
      return now;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload: again,
    close: () => {
      for (const file of files) unwatchFile(file, again);
    },
  };
}

function isSame(one: Identity, other: Identity): boolean {
  return one.cell === other.cell && one.role === other.role && one.id === other.id;
}

function readCredentials(folder: string): { readonly identity: Identity; readonly material: KeyMaterial } {
  const authorities = readFile(join(folder, CREDENTIAL_FILES.authorities));
  const file = join(folder, CREDENTIAL_FILES.identity);
  const both = readFile(file);
  if ((statSync(file).mode & 0o077) !== 0)
    throw new CredentialsError(`${file} can be read by others: chmod 600 ${file}`);
  try {
    const certificate = new X509Certificate(both);
    const identity = identityOf(certificate);
    if (identity === null) throw new CredentialsError(`${file} names no identity of a cell`);
    // Both are in one text, and each reader takes what is its own.
    const pair = { cert: both, key: both };
    const context = createSecureContext({ ca: authorities, ...pair, minVersion: 'TLSv1.3' });
    const valid = {
      notBeforeMs: Date.parse(certificate.validFrom),
      notAfterMs: Date.parse(certificate.validTo),
    };
    return { identity, material: { authorities, certificate: both, key: both, context, ...valid } };
  } catch (error) {
    if (error instanceof CredentialsError) throw error;
    throw new CredentialsError(`${folder} holds no certificate with its key: ${errorText(error)}`);
  }
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT')
      throw new CredentialsError(`there is no ${file}: moorage pki issue makes it`);
    throw new CredentialsError(`${file} cannot be read: ${errorText(error)}`);
  }
}
