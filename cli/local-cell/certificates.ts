import { AUTHORITY_TTL_MS, AuthorityFolder, LEAF_TTL_MS } from '../../src/adapters/pki/authority-folder.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';

/** Everything of a local cell is called on this machine. */
const HOSTS = ['127.0.0.1', '::1', 'localhost'];
/** Of a certificate's life: two renewals may fail before it ends. */
const RENEWED_AFTER = 1 / 3;
/** How often it is asked by the wall clock whether that is over: a machine may have slept. */
const LOOK_MAX_MS = 60_000;
const LOOKS_IN_A_LIFE = 30;

/** The authority of a local cell, and the certificates of its processes, which it renews for as long as the cell runs. */
export class Certificates {
  readonly #authority: AuthorityFolder;
  readonly #issued: { readonly role: IdentityRole; readonly id: string }[] = [];
  /** Those of this process. */
  readonly #opened: Credentials[] = [];
  readonly #onFault: (text: string) => void;
  readonly #ttlMs: number;
  #renewedMs = Date.now();
  #timer: NodeJS.Timeout | null = null;

  /**
   * @param onFault a renewal failed; it is tried again
   * @param ttlMs how long each certificate counts
   */
  constructor(folder: string, onFault: (text: string) => void, ttlMs = LEAF_TTL_MS) {
    this.#ttlMs = ttlMs;
    this.#authority = new AuthorityFolder(folder);
    this.#onFault = onFault;
  }

  /** Makes the authority where there is none. */
  async init(cell: string): Promise<void> {
    await this.#authority.init(cell, { nowMs: Date.now(), ttlMs: AUTHORITY_TTL_MS });
    const lookMs = Math.min(LOOK_MAX_MS, this.#ttlMs / LOOKS_IN_A_LIFE);
    this.#timer ??= setInterval(() => void this.#renewWhenDue(), lookMs).unref();
  }

  /** @returns the credentials folder */
  async issue(role: IdentityRole, id: string): Promise<string> {
    this.#issued.push({ role, id });
    return this.#write({ role, id });
  }

  /** For this process itself. */
  async open(role: IdentityRole, id: string): Promise<Credentials> {
    const credentials = openCredentials(await this.issue(role, id), silentLog);
    this.#opened.push(credentials);
    return credentials;
  }

  close(): void {
    clearInterval(this.#timer ?? undefined);
    for (const credentials of this.#opened) credentials.close();
  }

  async #write(holder: { readonly role: IdentityRole; readonly id: string }): Promise<string> {
    const times = { nowMs: Date.now(), ttlMs: this.#ttlMs };
    return (await this.#authority.issue(holder, { ...times, hosts: HOSTS })).folder;
  }

  /** By the wall clock, as certificates have their times. */
  async #renewWhenDue(): Promise<void> {
    if (Date.now() - this.#renewedMs < this.#ttlMs * RENEWED_AFTER) return;
    try {
      for (const holder of this.#issued) await this.#write(holder);
      for (const credentials of this.#opened) credentials.reload();
      this.#renewedMs = Date.now();
    } catch (error) {
      this.#onFault(`the certificates were not renewed: ${String(error)}`);
    }
  }
}
