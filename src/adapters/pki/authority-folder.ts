import { randomUUID, X509Certificate } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Identity, IdentityRole } from '../../core/access/identity.ts';
import { errorCodeOf } from '../adapters.ts';
import { makeFolder } from '../disk/make-folder.ts';
import { writeWhole } from '../disk/write-whole.ts';
import type { KeyPair, LeafTerms, Validity } from './authority.ts';
import { certifyHostKey, issue, issueFor, makeAuthority, makeKey } from './authority.ts';
import type { Bundle, SignedBundle } from '../../core/access/invitation.ts';
import { signBundle } from './bundle.ts';
import { hostsIn, identityOf } from './certified.ts';
import { sealHostKey } from './host-key.ts';
import { CREDENTIAL_FILES, CredentialsError, HOST_KEY_FILES } from './pki.ts';

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

/** How far the change to another authority is. */
export type Rotation = 'none' | 'trusted' | 'renewed';

/**
 * The authority of a cell as files: `ca.pem`, its certificate; `ca.key`, for its owner alone; and `issued/<role>-<id>/`, a
 * credentials folder for each certificate, to be carried to its holder.
 *
 * Another authority takes its place in three steps, between which every holder must have got its folder anew:
 *
 *     none ──► trusted: `next.pem` is trusted beside it ──► renewed: it issues, `previous.pem` is trusted still ──► none
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
   * Issues a certificate, or renews it, with a new key, and writes its credentials folder.
   * @param hosts the addresses and names at which its holder serves
   * @throws CredentialsError when there is no authority
   */
  async issue(
    holder: Pick<Identity, 'role' | 'id'>,
    validity: Validity & { readonly hosts: readonly string[] },
  ): Promise<Issued> {
    return this.#issue(holder, validity, async (authority, identity, terms) => {
      const { certificate, key } = await issue(authority, identity, terms);
      return `${key}${certificate}\n`;
    });
  }

  /**
   * The same for a key that its holder has made, and that is not here: the folder has the certificate alone.
   * @param publicKey SPKI, as PEM
   */
  async issueFor(
    holder: Pick<Identity, 'role' | 'id'>,
    validity: Validity & { readonly hosts: readonly string[]; readonly publicKey: string },
  ): Promise<Issued> {
    const { publicKey } = validity;
    return this.#issue(holder, validity, async (authority, identity, terms) => {
      const certificate = await issueFor(authority, identity, { ...terms, publicKey });
      return `${certificate}\n`;
    });
  }

  /** Issues the certificate again. Its holder keeps the key that it made. */
  async renew({ identity, hosts, folder }: Issued, validity: Validity): Promise<Issued> {
    const text = await readFile(join(folder, CREDENTIAL_FILES.identity), 'utf8');
    if (text.includes('PRIVATE KEY')) return this.issue(identity, { ...validity, hosts });
    const publicKey = new X509Certificate(text).publicKey.export({ type: 'spki', format: 'pem' }).toString();
    return this.issueFor(identity, { ...validity, hosts, publicKey });
  }

  /** Whether its holder made the key. */
  async isOwnKey({ folder }: Issued): Promise<boolean> {
    return !(await readFile(join(folder, CREDENTIAL_FILES.identity), 'utf8')).includes('PRIVATE KEY');
  }

  /** What is handed to the holder of a certificate, signed as a whole. */
  async bundle(
    { identity, folder }: Issued,
    more: Pick<Bundle, 'pinnedKeys' | 'etcd'>,
  ): Promise<SignedBundle> {
    const certificate = await readFile(join(folder, CREDENTIAL_FILES.identity), 'utf8');
    const { key } = await this.keyPair();
    const secrets = await this.#keysFor(identity, folder, certificate, more.pinnedKeys !== '');
    const authorities = await this.#trusted();
    return signBundle({ ...identity, certificate, authorities, ...more, ...secrets }, key);
  }

  async #issue(
    { role, id }: Pick<Identity, 'role' | 'id'>,
    validity: Validity & { readonly hosts: readonly string[] },
    make: (authority: KeyPair, identity: Identity, terms: LeafTerms) => Promise<string>,
  ): Promise<Issued> {
    const { cell, notAfterMs: endMs } = await this.facts();
    await this.#settle();
    const authority = await this.keyPair();
    const identity = { cell, role, id };
    const ttlMs = Math.min(validity.ttlMs, endMs - validity.nowMs);
    if (ttlMs <= 0) throw new CredentialsError(`the authority in ${this.path} has expired`);
    const { nowMs, hosts } = validity;
    const text = await make(authority, identity, { nowMs, ttlMs, hosts });
    const folder = this.folderOf(identity);
    makeFolder(folder, 0o700);
    await writeWhole(join(folder, CREDENTIAL_FILES.authorities), await this.#trusted(), CERTIFICATE_MODE);
    await writeWhole(join(folder, CREDENTIAL_FILES.identity), text);
    await this.#addHostKey(role, folder, { cell, nowMs, endMs });
    return { identity, folder, hosts, notAfterMs: nowMs + ttlMs };
  }

  /** What a bundle brings of the key of all hosts. @param joins a renewal brings no keys */
  async #keysFor(
    { role }: Identity,
    folder: string,
    certificate: string,
    joins: boolean,
  ): Promise<Pick<Bundle, 'hostKey' | 'hostCertificate'>> {
    if (role === 'monitor')
      return { hostCertificate: await readFile(join(folder, HOST_KEY_FILES.certificate), 'utf8') };
    if (role !== 'agent' || !joins) return {};
    return { hostKey: sealHostKey(await this.#hostKey(), certificate) };
  }

  /** Agents get the key to which secrets are sealed, monitors its certificate, which a new authority issues anew. */
  async #addHostKey(
    role: IdentityRole,
    folder: string,
    { cell, nowMs, endMs }: { readonly cell: string; readonly nowMs: number; readonly endMs: number },
  ): Promise<void> {
    if (role !== 'agent' && role !== 'monitor') return;
    const { secret, certificate } = HOST_KEY_FILES;
    const validity = { nowMs, ttlMs: endMs - nowMs };
    const made = await certifyHostKey(await this.keyPair(), cell, await this.#hostKey(), validity);
    if (role === 'agent') await writeWhole(join(folder, secret), made.key);
    else await writeWhole(join(folder, certificate), made.certificate, CERTIFICATE_MODE);
  }

  /** Made once, however many ask for it at once. */
  async #hostKey(): Promise<string> {
    const file = join(this.path, HOST_KEY_FILES.secret);
    const own = `${file}.${randomUUID()}`;
    if (!(await exists(file))) {
      await writeWhole(own, await makeKey());
      await link(own, file).catch((error: unknown) => {
        if (errorCodeOf(error) !== 'EEXIST') throw error;
      });
      await rm(own);
    }
    return await this.#read(file);
  }

  async rotation(): Promise<Rotation> {
    await this.#settle();
    if (await exists(this.#file('next.key'))) return 'trusted';
    return (await exists(this.#file('previous.pem'))) ? 'renewed' : 'none';
  }

  /**
   * Makes the next step to another authority. What a step was interrupted in, the same step does again.
   * @param validity of the new authority, or of the certificates that it issues
   * @returns how far it is then, and the folders that were written
   */
  async rotate(validity: Validity): Promise<{ readonly at: Rotation; readonly written: readonly Issued[] }> {
    const at = await this.rotation();
    if (at === 'none') {
      const { cell } = await this.facts();
      const { certificate, key } = await makeAuthority(cell, { ...validity, ttlMs: AUTHORITY_TTL_MS });
      await writeWhole(this.#file('next.pem'), certificate, CERTIFICATE_MODE);
      await writeWhole(this.#file('next.key'), key);
      return { at: 'trusted', written: await this.#writeTrusted() };
    }
    if (at === 'trusted') {
      // Again, where the first step was interrupted: nobody may be renewed who does not trust both.
      await this.#writeTrusted();
      const { certificate } = await this.keyPair();
      await writeWhole(this.#file('previous.pem'), certificate, CERTIFICATE_MODE);
      await rename(this.#file('next.pem'), this.#certificateFile);
      await this.#settle();
      return { at: 'renewed', written: await this.#renewAll(validity) };
    }
    const late = await this.#renewOld(validity);
    if (late.length > 0) return { at: 'renewed', written: late };
    await rm(this.#file('previous.pem'));
    return { at: 'none', written: await this.#writeTrusted() };
  }

  /** The new certificate is in its place: its key follows. */
  async #settle(): Promise<void> {
    const isHalf = (await exists(this.#file('next.key'))) && !(await exists(this.#file('next.pem')));
    if (isHalf) await rename(this.#file('next.key'), this.#keyFile);
  }

  /** Whom every holder trusts; during a change the older authority stands first, so that the text stays the same. */
  async #trusted(): Promise<string> {
    const files = [this.#file('previous.pem'), this.#certificateFile, this.#file('next.pem')];
    const texts = await Promise.all(
      files.map((file) =>
        readFile(file, 'utf8').then(
          (text) => `${text.trimEnd()}\n`,
          () => '',
        ),
      ),
    );
    return texts.join('');
  }

  async #writeTrusted(): Promise<readonly Issued[]> {
    const trusted = await this.#trusted();
    const all = await this.issued();
    for (const { folder } of all)
      await writeWhole(join(folder, CREDENTIAL_FILES.authorities), trusted, CERTIFICATE_MODE);
    return all;
  }

  /** What has expired stays expired. */
  async #renewAll(validity: Validity): Promise<readonly Issued[]> {
    const valid = (await this.issued()).filter(({ notAfterMs }) => notAfterMs > validity.nowMs);
    const renewed: Issued[] = [];
    for (const one of valid) renewed.push(await this.renew(one, validity));
    return renewed;
  }

  /** What the second step did not come to: its holders must get theirs before the old authority goes. */
  async #renewOld(validity: Validity): Promise<readonly Issued[]> {
    const { publicKey } = await this.#certificate();
    const renewed: Issued[] = [];
    for (const one of await this.issued()) {
      const text = await readFile(join(one.folder, CREDENTIAL_FILES.identity), 'utf8');
      if (one.notAfterMs > validity.nowMs && !new X509Certificate(text).verify(publicKey))
        renewed.push(await this.renew(one, validity));
    }
    return renewed;
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

  #file(name: 'ca.pem' | 'ca.key' | 'next.pem' | 'next.key' | 'previous.pem'): string {
    return join(this.path, name);
  }

  get #certificateFile(): string {
    return this.#file('ca.pem');
  }

  get #keyFile(): string {
    return this.#file('ca.key');
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

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
