import { X509Certificate } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Identity } from '../../core/access/identity.ts';
import { errorCodeOf } from '../adapters.ts';
import { makeFolder } from '../disk/make-folder.ts';
import { writeWhole } from '../disk/write-whole.ts';
import type { KeyPair, Validity } from './authority.ts';
import { issue, makeAuthority } from './authority.ts';
import { identityOf } from './certified.ts';
import { CREDENTIAL_FILES, CredentialsError } from './pki.ts';

const DAY_MS = 24 * 3600 * 1000;
export const AUTHORITY_TTL_MS = 3_652 * DAY_MS;
export const LEAF_TTL_MS = DAY_MS;
const CERTIFICATE_MODE = 0o644;

/** One certificate in the folder. */
export interface Issued {
  readonly identity: Identity;
  /** Where its credentials lie. */
  readonly folder: string;
  /** As in the certificate: addresses and names at which its holder serves. */
  readonly hosts: readonly string[];
  readonly notAfterMs: number;
}

export interface AuthorityFacts {
  readonly cell: string;
  readonly notAfterMs: number;
  /** SHA-256 of its certificate, to compare by eye. */
  readonly fingerprint: string;
}

/**
 * The authority of a cell as files: `ca.pem`, its certificate; `ca.key`, for its owner alone; and `issued/<role>-<id>/`, a
 * credentials folder for each certificate, to be carried to its holder.
 */
export class AuthorityFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Makes the authority where there is none. @returns false: there is one already, and it stays */
  async init(cell: string, validity: Validity): Promise<boolean> {
    makeFolder(this.path, 0o700);
    if (await exists(this.#keyFile)) return false;
    const { certificate, key } = await makeAuthority(cell, validity);
    // The key last: it is what makes the authority.
    await writeWhole(this.#certificateFile, certificate, CERTIFICATE_MODE);
    await writeWhole(this.#keyFile, key);
    return true;
  }

  /** @throws CredentialsError when there is no authority */
  async facts(): Promise<AuthorityFacts> {
    const certificate = await this.#certificate();
    const cell = /^O=(\S+)$/m.exec(certificate.subject)?.[1];
    if (cell === undefined) throw new CredentialsError(`${this.#certificateFile} is no authority of a cell`);
    return {
      cell,
      notAfterMs: Date.parse(certificate.validTo),
      fingerprint: certificate.fingerprint256,
    };
  }

  /**
   * Issues a certificate, or renews it, and writes its credentials folder.
   * @param hosts the addresses and names at which its holder serves
   * @throws CredentialsError when there is no authority
   */
  async issue(
    { role, id }: Pick<Identity, 'role' | 'id'>,
    validity: Validity & { readonly hosts: readonly string[] },
  ): Promise<Issued> {
    const { cell, notAfterMs: endMs } = await this.facts();
    const authority = await this.keyPair();
    const identity = { cell, role, id };
    const ttlMs = Math.min(validity.ttlMs, endMs - validity.nowMs);
    if (ttlMs <= 0) throw new CredentialsError(`the authority in ${this.path} has expired`);
    const { certificate, key } = await issue(authority, identity, { ...validity, ttlMs });
    const folder = this.folderOf(identity);
    makeFolder(folder, 0o700);
    await writeWhole(join(folder, CREDENTIAL_FILES.authorities), authority.certificate, CERTIFICATE_MODE);
    await writeWhole(join(folder, CREDENTIAL_FILES.identity), `${key}${certificate}\n`);
    return { identity, folder, hosts: validity.hosts, notAfterMs: validity.nowMs + ttlMs };
  }

  folderOf({ role, id }: Pick<Identity, 'role' | 'id'>): string {
    return join(this.#issuedFolder, `${role}-${id}`);
  }

  /** What was issued, by name. Folders that are no credentials are left out. */
  async issued(): Promise<readonly Issued[]> {
    const names = await readdir(this.#issuedFolder).catch(() => []);
    const found = await Promise.all(names.sort().map((name) => readIssued(join(this.#issuedFolder, name))));
    return found.filter((one) => one !== null);
  }

  get #certificateFile(): string {
    return join(this.path, 'ca.pem');
  }

  get #keyFile(): string {
    return join(this.path, 'ca.key');
  }

  get #issuedFolder(): string {
    return join(this.path, 'issued');
  }

  async #certificate(): Promise<X509Certificate> {
    return new X509Certificate(await this.#read(this.#certificateFile));
  }

  /** @throws CredentialsError when there is no authority */
  async keyPair(): Promise<KeyPair> {
    const [certificate, key] = await Promise.all([
      this.#read(this.#certificateFile),
      this.#read(this.#keyFile),
    ]);
    return { certificate, key };
  }

  async #read(file: string): Promise<string> {
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT') throw error;
      throw new CredentialsError(`there is no authority in ${this.path}: moorage pki init ${this.path}`);
    }
  }
}

async function readIssued(folder: string): Promise<Issued | null> {
  const text = await readFile(join(folder, CREDENTIAL_FILES.identity), 'utf8').catch(() => null);
  if (text === null) return null;
  const certificate = new X509Certificate(text);
  const identity = identityOf(certificate);
  if (identity === null) return null;
  return { identity, folder, hosts: hostsIn(certificate), notAfterMs: Date.parse(certificate.validTo) };
}

function hostsIn({ subjectAltName = '' }: X509Certificate): readonly string[] {
  return subjectAltName
    .split(', ')
    .filter((name) => !name.startsWith('URI:'))
    .map((name) => name.slice(name.indexOf(':') + 1));
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
