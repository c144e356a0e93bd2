import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCodeOf } from '../../src/adapters/adapters.ts';
import { makeFolder } from '../../src/adapters/disk/make-folder.ts';
import { writeWhole } from '../../src/adapters/disk/write-whole.ts';
import { CREDENTIAL_FILES } from '../../src/adapters/pki/pki.ts';
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

  /**
   * The key that the machine asks with: made once, so that who was interrupted asks again with the same.
   * @returns as PEM
   */
  async key(): Promise<string> {
    const file = join(this.#path, 'key.pem');
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT') throw error;
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const text = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    makeFolder(this.#path, 0o700);
    await writeWhole(file, text);
    return text;
  }

  /** `host.json` last: it is what makes the host one of the cell. */
  async write(bundle: Bundle, key: string, listen: string): Promise<void> {
    for (const folder of [this.credentials, this.keys]) makeFolder(folder, 0o700);
    await writeWhole(join(this.credentials, CREDENTIAL_FILES.authorities), bundle.authorities);
    await writeWhole(join(this.credentials, CREDENTIAL_FILES.identity), `${key}${bundle.certificate}`);
    await writeWhole(join(this.keys, 'arbiters.public'), bundle.pinnedKeys);
    const { cell, id, etcd } = bundle;
    await writeWhole(join(this.#path, 'host.json'), joinedFile.encode({ cell, id, etcd, listen }));
    await rm(join(this.#path, 'key.pem'), { force: true });
  }
}
