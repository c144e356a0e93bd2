import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { errorCodeOf } from '../../src/adapters/adapters.ts';
import { makeFolder } from '../../src/adapters/disk/make-folder.ts';
import { writeWhole } from '../../src/adapters/disk/write-whole.ts';
import { AuthorityFolder } from '../../src/adapters/pki/authority-folder.ts';
import type { BootstrapState } from '../../src/wire/join/bootstrap-file.ts';
import { bootstrapFile } from '../../src/wire/join/bootstrap-file.ts';

/** The authority, the keys of tickets, and what was decided: with this folder a cell can be made again, and taken over. */
export class BootstrapFolder {
  readonly path: string;
  #written: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.path = resolve(path);
  }

  get authority(): AuthorityFolder {
    return new AuthorityFolder(join(this.path, 'authority'));
  }

  get keys(): string {
    return join(this.path, 'keys');
  }

  read(): BootstrapState | null {
    try {
      return bootstrapFile.decode(readFileSync(this.#file, 'utf8'));
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return null;
      throw error;
    }
  }

  /** One after the other, in the order of the calls. */
  write(state: BootstrapState): Promise<void> {
    const write = async (): Promise<void> => {
      makeFolder(this.path, 0o700);
      await writeWhole(this.#file, bootstrapFile.encode(state));
    };
    return (this.#written = this.#written.then(write));
  }

  get #file(): string {
    return join(this.path, 'bootstrap.json');
  }
}
