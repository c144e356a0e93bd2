import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import type { AuthorityFolder, Issued } from '../../src/adapters/pki/authority-folder.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { isProved } from '../../src/adapters/pki/bundle.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { readPinnedKeys } from '../../src/adapters/tickets/key-files.ts';
import type { Invitation } from '../../src/core/access/invitation.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore, Entry } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { bundleCodec, invitationCodec, signedBundleCodec } from '../../src/wire/records/records.ts';
import { RecordError } from '../../src/wire/wire.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { renewalLookMs } from '../join/renewal.ts';
import type { StoreFlags } from './store-flags.ts';
import { storeOf } from './store-flags.ts';

/** A certificate is renewed when a third of its time is over: two renewals may fail before it ends. */
const RENEWED_AFTER = 1 / 3;
/** What is to be done is looked at this often even if the store tells of no change. */
const LOOK_MAX_MS = 10_000;

/** Its name as an operator. */
const SIGNER = 'signer';

/** What `Signer` works with. */
export interface SignerDeps {
  readonly authority: AuthorityFolder;
  readonly store: CellStore;
  readonly keys: CellKeys;
  /** How long each certificate counts. */
  readonly ttlMs: number;
  readonly nowMs: () => number;
  /** What a host needs beside its certificate. */
  readonly more: { readonly pinnedKeys: string; readonly etcd: readonly string[] };
  /** It issued a certificate, or did not. */
  readonly onEvent: (text: string) => void;
}

/**
 * Answers machines that were invited, and renews what was issued to keys that are not here. It runs where the authority's key
 * lies, and reaches the store and nobody else; several may run at once.
 */
export class Signer {
  readonly #deps: SignerDeps;

  constructor(deps: SignerDeps) {
    this.#deps = deps;
  }

  /** Does once what there is to do. @throws StoreError, and an error of the authority's folder */
  async look(): Promise<void> {
    const { store, keys } = this.#deps;
    const { entries } = await store.list(keys.invitations);
    for (const entry of entries.values()) await this.#answer(entry);
    for (const issued of await this.#deps.authority.issued())
      if (await this.#deps.authority.isOwnKey(issued)) await this.#renew(issued);
  }

  async #answer(entry: Entry): Promise<void> {
    const { authority, store, ttlMs, more, onEvent } = this.#deps;
    const invitation = this.#decode(entry);
    if (invitation?.asked === undefined || invitation.answer !== undefined) return;
    const { id, host, hosts, asked } = invitation;
    if (!isId(host) || asked.atMs > invitation.endsAtMs || !isProved(asked, id)) {
      onEvent(
        `refused: the request for ${host} (invitation ${id}) is not signed by its own key, or came too late`,
      );
      return;
    }
    const times = { nowMs: this.#deps.nowMs(), ttlMs };
    const issued = await authority.issueFor(
      { role: 'agent', id: host },
      { ...times, hosts, publicKey: asked.publicKey },
    );
    const answer = await authority.bundle(issued, more);
    const reply = await store.attempt({
      compares: [{ key: entry.key, target: 'modRevision', equals: entry.modRevision }],
      writes: [{ kind: 'put', key: entry.key, value: invitationCodec.encode({ ...invitation, answer }) }],
      readBack: [],
    });
    // Refused: another signer was faster, with a certificate of the same key.
    if (reply.outcome === 'applied')
      onEvent(`issued: agent ${host} at ${hosts.join(', ')}, as ${invitation.createdBy} invited it`);
  }

  /** Issues it again when it is time, and puts it where its holder looks. */
  async #renew(issued: Issued): Promise<void> {
    const { authority, store, keys, ttlMs, onEvent } = this.#deps;
    const nowMs = this.#deps.nowMs();
    const { identity, notAfterMs } = issued;
    // What has expired stays expired.
    if (notAfterMs <= nowMs) return;
    const isDue = notAfterMs - nowMs < ttlMs * (1 - RENEWED_AFTER);
    const now = isDue ? await authority.renew(issued, { nowMs, ttlMs }) : issued;
    const bundle = await authority.bundle(now, { pinnedKeys: '', etcd: [] });
    const key = keys.certificate(identity.role, identity.id);
    const entry = (await store.read([key])).entries.get(key);
    if (entry !== undefined && isSameBundle(entry.value, bundle.text)) return;
    await store.attempt({
      compares: [{ key, target: 'modRevision', equals: entry?.modRevision ?? 0 }],
      writes: [{ kind: 'put', key, value: signedBundleCodec.encode(bundle) }],
      readBack: [],
    });
    if (isDue) onEvent(`renewed: ${identity.role} ${identity.id}`);
  }

  #decode(entry: Entry): Invitation | null {
    try {
      return invitationCodec.decode(entry.value);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      this.#deps.onEvent(`left out: ${entry.key} cannot be read`);
      return null;
    }
  }
}

/** Two signatures of one text differ: the texts are compared. */
function isSameBundle(stored: string, text: string): boolean {
  try {
    const there = signedBundleCodec.decode(stored).text;
    return bundleCodec.encode(bundleCodec.decode(there)) === text;
  } catch (error) {
    if (error instanceof RecordError) return false;
    throw error;
  }
}

export interface SignFlags extends StoreFlags {
  readonly keys?: string;
  readonly ttl?: string;
}

/** Runs until it is told to end. */
export async function sign(context: Context, folder: string, flags: SignFlags): Promise<number> {
  const [{ AuthorityFolder }, { inFolder, ttlMsOf }] = await Promise.all([
    import('../../src/adapters/pki/authority-folder.ts'),
    import('./pki.ts'),
  ]);
  const { terminal, interrupted } = context;
  const authority = new AuthorityFolder(resolve(folder));
  const { cell } = await inFolder(folder, () => authority.facts());
  const { etcd } = storeOf(context, { ...flags, cell }, 'pki sign');
  const ttlMs = ttlMsOf(flags.ttl);
  const own = new OwnCertificate(authority, ttlMs, () => terminal.nowMs());
  const credentials = await inFolder(folder, () => own.open());
  const store = new EtcdCellStore({ endpoints: etcd, credentials, clock: systemClock, log: silentLog });
  const say = (text: string): void => terminal.err(`${text}\n`);
  const signer = new Signer({
    ...{ authority, store, keys: cellKeys(cell), ttlMs, nowMs: () => terminal.nowMs() },
    more: { pinnedKeys: await pinnedKeysIn(flags.keys), etcd },
    onEvent: say,
  });
  context.endInOrder();
  const changed = new Changes(store, cellKeys(cell).invitations);
  try {
    terminal.out(`${JSON.stringify({ ready: true, id: `authority of ${cell}` })}\n`);
    while (!interrupted.aborted) {
      const next = changed.next();
      try {
        await inFolder(folder, async () => {
          await own.renewWhenDue();
          await signer.look();
        });
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        say(`the store: ${error.message}; it is asked again`);
      }
      await Promise.race([next, terminal.sleep(Math.min(LOOK_MAX_MS, renewalLookMs(ttlMs)), interrupted)]);
    }
    return EXIT.ok;
  } finally {
    changed.close();
    await store.close();
    credentials.close();
  }
}

/** By which the holder of the authority's key reaches the store: one of its own making, renewed for as long as it runs. */
class OwnCertificate {
  readonly #authority: AuthorityFolder;
  readonly #ttlMs: number;
  readonly #nowMs: () => number;
  #issuedMs = 0;
  #credentials: Credentials | null = null;

  constructor(authority: AuthorityFolder, ttlMs: number, nowMs: () => number) {
    this.#authority = authority;
    this.#ttlMs = ttlMs;
    this.#nowMs = nowMs;
  }

  async open(): Promise<Credentials> {
    const { folder } = await this.#issue();
    return (this.#credentials = openCredentials(folder, null));
  }

  async renewWhenDue(): Promise<void> {
    if (this.#nowMs() - this.#issuedMs < this.#ttlMs * RENEWED_AFTER) return;
    await this.#issue();
    this.#credentials?.reload();
  }

  async #issue(): Promise<Issued> {
    const times = { nowMs: this.#nowMs(), ttlMs: this.#ttlMs, hosts: [] };
    const issued = await this.#authority.issue({ role: 'operator', id: SIGNER }, times);
    this.#issuedMs = times.nowMs;
    return issued;
  }
}

/** Tells when something below the prefix has changed. */
class Changes {
  readonly #following: { close(): void };
  #wake: () => void = () => undefined;

  constructor(store: CellStore, prefix: string) {
    const wake = (): void => this.#wake();
    const following = store.follow(prefix, { onSnapshot: wake, onChanges: wake });
    following.ready.catch(() => undefined);
    this.#following = following;
  }

  next(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  close(): void {
    this.#following.close();
  }
}

async function pinnedKeysIn(folder: string | undefined): Promise<string> {
  if (folder === undefined)
    throw usageError(
      "name the folder with the arbiters' public keys, which each host pins: --keys FOLDER",
      'moorage pki sign AUTHORITY --keys FOLDER',
    );
  const file = join(folder, 'arbiters.public');
  try {
    await readPinnedKeys(file);
    return await readFile(file, 'utf8');
  } catch (error) {
    const fault =
      error instanceof Error && error.name === 'KeyFileError'
        ? error.message
        : `${file}: ${fileFault(error)}`;
    throw new CliError(EXIT.usage, fault, 'moorage keys FOLDER', error);
  }
}
