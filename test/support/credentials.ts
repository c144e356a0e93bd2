import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuthorityFolder } from '../../src/adapters/pki/authority-folder.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';

export const LOOPBACK_HOSTS = ['127.0.0.1', '::1', 'localhost'];
export const HOUR_MS = 3_600_000;

/** An authority in a folder of its own, gone at the end of the block. */
export class TestAuthority {
  readonly cell: string;
  readonly path = mkdtempSync(join(tmpdir(), 'moorage-pki-'));
  readonly folder = new AuthorityFolder(this.path);
  readonly #open: Credentials[] = [];

  private constructor(cell: string) {
    this.cell = cell;
  }

  static async of(cell: string, ttlMs = 24 * HOUR_MS): Promise<TestAuthority> {
    const authority = new TestAuthority(cell);
    // Those who check certificates compare them with the machine's own clock.
    await authority.folder.init(cell, { nowMs: Date.now(), ttlMs });
    return authority;
  }

  /** @returns the credentials folder */
  async issue(role: IdentityRole, id: string, hosts = LOOPBACK_HOSTS, ttlMs = HOUR_MS): Promise<string> {
    return (await this.folder.issue({ role, id }, { nowMs: Date.now(), ttlMs, hosts })).folder;
  }

  async credentials(role: IdentityRole, id: string, hosts = LOOPBACK_HOSTS): Promise<Credentials> {
    const credentials = openCredentials(await this.issue(role, id, hosts), null);
    this.#open.push(credentials);
    return credentials;
  }

  [Symbol.dispose](): void {
    for (const credentials of this.#open) credentials.close();
    rmSync(this.path, { recursive: true, force: true });
  }
}
