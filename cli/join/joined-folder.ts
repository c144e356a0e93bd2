import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCodeOf } from '../../src/adapters/adapters.ts';
import { makeFolder } from '../../src/adapters/disk/make-folder.ts';
import { writeWhole } from '../../src/adapters/disk/write-whole.ts';
import { openHostKey } from '../../src/adapters/pki/host-key.ts';
import { CREDENTIAL_FILES, HOST_KEY_FILES } from '../../src/adapters/pki/pki.ts';
import type { Bundle } from '../../src/core/access/invitation.ts';
import type { JoinedHost } from '../../src/wire/join/joined-file.ts';
import { joinedFile } from '../../src/wire/join/joined-file.ts';
import { RecordError } from '../../src/wire/wire.ts';
import { CliError, EXIT } from '../command/exit.ts';

/**
 * What a host has of its cell, in its agent's data folder. Nobody but its owner may read any of it, and no task sees it.
 *
 *     joined/host.json       who it is, where it listens, where the store is
 *     joined/credentials/    its certificate and key, and whom to trust
 *     joined/keys/           the arbiters' keys that it pins
 *     joined/key.pem         its key, until there is a certificate for it
 *     joined/roles/<role>-<id>/   the same for each role of the cell that runs here as a task
 *     joined/bare/           of a machine that waits for its cell: by what it is known until then
 */
export class JoinedFolder {
  readonly #path: string;

  /** @param data the agent's data folder */
  constructor(data: string) {
    this.#path = join(resolve(data), 'joined');
  }

  get credentials(): string {
    return join(this.#path, 'credentials');
  }

  get keys(): string {
    return join(this.#path, 'keys');
  }

  /** @returns null: the host has not joined. @throws CliError when the file cannot be used */
  read(): JoinedHost | null {
    const file = join(this.#path, 'host.json');
    try {
      return joinedFile.decode(readFileSync(file, 'utf8'));
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return null;
      if (!(error instanceof RecordError)) throw error;
      throw new CliError(EXIT.usage, `${file}: ${error.message}`, 'join again, or correct it', error);
    }
  }

  get bare(): string {
    return join(this.#path, 'bare');
  }

  /** @param holder `<role>-<id>` */
  role(holder: string): string {
    return join(this.#path, 'roles', holder);
  }

  /** Those of the roles that run here. */
  roles(): readonly string[] {
    try {
      return readdirSync(join(this.#path, 'roles')).map((holder) => this.role(holder));
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  /**
   * The key that the machine asks with: made once, so that who was interrupted asks again with the same.
   * @param holder of a role; absent: of the agent
   * @returns as PEM
   */
  async key(holder?: string): Promise<string> {
    const folder = holder === undefined ? this.#path : this.role(holder);
    const file = join(folder, 'key.pem');
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT') throw error;
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const text = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    makeFolder(folder, 0o700);
    await writeWhole(file, text);
    return text;
  }

  /** Credentials of a role that will run here. */
  async writeRole(bundle: Bundle): Promise<void> {
    const { role, id, authorities, certificate } = bundle;
    const holder = `${role}-${id}`;
    const key = await this.key(holder);
    await writeCredentials(this.role(holder), authorities, `${key}${certificate}`);
    await writeHostCertificate(this.role(holder), bundle);
  }

  /** For the arbiters that will run here: it signs tickets. */
  async writeArbiterSecret(text: string): Promise<void> {
    makeFolder(this.keys, 0o700);
    await writeWhole(join(this.keys, 'arbiter.secret'), text);
  }

  /** `host.json` last: it is what makes the host one of the cell. */
  async write(bundle: Bundle, key: string, more: Pick<JoinedHost, 'listen' | 'allow'>): Promise<void> {
    await writeCredentials(this.credentials, bundle.authorities, `${key}${bundle.certificate}`);
    makeFolder(this.keys, 0o700);
    const hostKey = bundle.hostKey === undefined ? null : openHostKey(bundle.hostKey, key);
    if (hostKey !== null) await writeWhole(join(this.credentials, HOST_KEY_FILES.secret), hostKey);
    await writeWhole(join(this.keys, 'arbiters.public'), bundle.pinnedKeys);
    const { cell, id, etcd } = bundle;
    await writeWhole(join(this.#path, 'host.json'), joinedFile.encode({ cell, id, etcd, ...more }));
    await rm(join(this.#path, 'key.pem'), { force: true });
  }
}

/** Of the key to which secrets are sealed: monitors show it. */
export async function writeHostCertificate(folder: string, { hostCertificate }: Bundle): Promise<void> {
  if (hostCertificate !== undefined)
    await writeWhole(join(folder, HOST_KEY_FILES.certificate), hostCertificate);
}

async function writeCredentials(folder: string, authorities: string, identity: string): Promise<void> {
  makeFolder(folder, 0o700);
  await writeWhole(join(folder, CREDENTIAL_FILES.authorities), authorities);
  await writeWhole(join(folder, CREDENTIAL_FILES.identity), identity);
}
