import type { Invitation, KeyRequest } from '../../src/core/access/invitation.ts';
import {
  INVITATIONS_MAX,
  invitationIdOf,
  invitationText,
  invitedOf,
  stateOfInvitation,
} from '../../src/core/access/invitation.ts';
import { isSameHash } from '../../src/core/access/token.ts';
import { SECRET_BYTES } from '../../src/core/access/secret-text.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Entry, Write } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { AdmitToken } from '../../src/ports/http.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type {
  InvitationRequest,
  InvitationStatus,
  JoinAnswer,
  NewInvitation,
} from '../../src/wire/join/join.ts';
import { invitationCodec } from '../../src/wire/records/records.ts';
import { RecordError } from '../../src/wire/wire.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';
import type { TokensDeps } from './tokens.ts';

/** Whoever makes invitations up costs the store a read each: so many at once. */
const READS_MAX = 8;
/** How long a machine is kept waiting for its certificate; it asks again then. */
const WAIT_MS = 5_000;
const LOOK_MS = 250;
/** Each time it has changed meanwhile; it changes twice in its life. */
const WITHDRAW_TRIES_MAX = 3;
/** With a new one, in one transaction. */
const REMOVED_AT_ONCE_MAX = 32;
/** Kept for so long after its end, so that who comes too late learns that. */
const KEPT_MS = 24 * 3_600_000;

/** Hosts that may join: this monitor takes their keys, and hands out what the holder of the authority's key answers. */
export class Invitations {
  readonly #deps: TokensDeps;
  #reads = 0;

  constructor(deps: TokensDeps) {
    this.#deps = deps;
  }

  /**
   * @param by who invites
   * @throws ProblemError
   */
  async create({ host, hosts, ttlMs }: InvitationRequest, by: string): Promise<NewInvitation> {
    const { clock, random, digest, keys, store } = this.#deps;
    const nowMs = clock.nowMs();
    const old = await this.#makeRoom(nowMs);
    const id = makeId(nowMs, random.bytes(16));
    const shown = invitationText(id, random.bytes(SECRET_BYTES));
    const record: Invitation = {
      ...{ id, host, hosts, hash: digest(shown) },
      ...{ createdBy: by, createdAtMs: nowMs, endsAtMs: nowMs + ttlMs },
    };
    const writes: readonly Write[] = [
      { kind: 'put', key: keys.invitation(id), value: invitationCodec.encode(record) },
      ...old.map((one): Write => ({ kind: 'delete', key: keys.invitation(one.id) })),
    ];
    const reply = await store.attempt({ compares: [], writes, readBack: [] });
    if (reply.outcome === 'unknown')
      throw outcomeUnknown('invite the host again: what was not handed out is of no use');
    return { id, host, hosts, createdBy: by, endsAtMs: record.endsAtMs, shown };
  }

  /** The oldest first; those that are used or have ended too, as long as their records are there. */
  async list(): Promise<readonly InvitationStatus[]> {
    const nowMs = this.#deps.clock.nowMs();
    return (await this.#all()).map((one): InvitationStatus => {
      const { id, host, hosts, createdBy, createdAtMs, endsAtMs, asked } = one;
      const askedAtMs = asked?.atMs ?? null;
      return {
        ...{ id, host, hosts, createdBy, createdAtMs, endsAtMs, askedAtMs },
        state: stateOfInvitation(one, nowMs),
      };
    });
  }

  /**
   * Takes it back: it lets nobody in any more, and no certificate comes of it that is not there.
   * @throws ProblemError: there is none, or a machine has its certificate by it
   */
  async withdraw(id: string): Promise<void> {
    const { store } = this.#deps;
    for (let tries = 0; tries < WITHDRAW_TRIES_MAX; tries++) {
      const found = await this.#read(id);
      if (found === null)
        throw refuse(404, 'no-such-invitation', `there is no invitation ${id}`, {
          hint: 'moorage host invitations',
        });
      const { entry, invitation } = found;
      if (invitation.answer !== undefined)
        throw refuse(409, 'invitation-used', `${invitation.host} has its certificate by it already`, {
          hint: `to end what it is: remove agent-${invitation.host} from AUTHORITY/issued, and moorage host remove`,
        });
      const reply = await store.attempt({
        compares: [{ key: entry.key, target: 'modRevision', equals: entry.modRevision }],
        writes: [{ kind: 'delete', key: entry.key }],
        readBack: [],
      });
      if (reply.outcome === 'applied') return;
      if (reply.outcome === 'unknown') throw outcomeUnknown('moorage host invitations shows whether it was');
    }
    throw refuse(409, 'contended', `the invitation ${id} changes all the time`, { hint: 'ask again' });
  }

  /** One that has ended is admitted too, and learns why it is refused. */
  readonly admit: AdmitToken = async (text) => {
    const id = invitationIdOf(text);
    if (id === null) return 'unknown';
    if (this.#reads >= READS_MAX) return 'unsure';
    this.#reads += 1;
    try {
      const found = await this.#read(id);
      if (found === null || !isSameHash(found.invitation.hash, this.#deps.digest(text))) return 'unknown';
      return { person: invitedOf(found.invitation), ended: new AbortController().signal };
    } catch (error) {
      if (error instanceof StoreError) return 'unsure';
      throw error;
    } finally {
      this.#reads -= 1;
    }
  };

  /**
   * Puts the machine's key on record, and waits a little for the answer. The same key may ask again; another one is refused.
   * @throws ProblemError
   */
  async join(id: string, request: KeyRequest, signal: AbortSignal): Promise<JoinAnswer> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonicMs() + WAIT_MS;
    for (;;) {
      const found = await this.#read(id);
      if (found === null) throw gone();
      const { asked, answer } = found.invitation;
      if (asked === undefined) await this.#ask(found, request);
      else if (asked.publicKey !== request.publicKey) throw used(found.invitation);
      else if (answer !== undefined) return { state: 'answered', answer };
      else if (clock.monotonicMs() >= untilMs || signal.aborted) return { state: 'waiting' };
      else await sleep(clock, LOOK_MS, signal);
    }
  }

  /** What came of it is read again. */
  async #ask({ invitation, entry }: Found, { publicKey, proof }: KeyRequest): Promise<void> {
    const { store, clock } = this.#deps;
    const nowMs = clock.nowMs();
    if (invitation.endsAtMs <= nowMs) throw ended(invitation);
    const asked: Invitation = { ...invitation, asked: { publicKey, proof, atMs: nowMs } };
    await store.attempt({
      compares: [{ key: entry.key, target: 'modRevision', equals: entry.modRevision }],
      writes: [{ kind: 'put', key: entry.key, value: invitationCodec.encode(asked) }],
      readBack: [],
    });
  }

  async #read(id: string): Promise<Found | null> {
    const { store, keys } = this.#deps;
    const key = keys.invitation(id);
    const entry = (await store.read([key])).entries.get(key);
    const invitation = entry === undefined ? null : this.#decode(entry);
    return entry === undefined || invitation === null ? null : { entry, invitation };
  }

  /** @returns those whose records may go */
  async #makeRoom(nowMs: number): Promise<readonly Invitation[]> {
    const known = await this.#all();
    const old = known.filter(({ endsAtMs }) => endsAtMs + KEPT_MS <= nowMs);
    if (known.length - old.length >= INVITATIONS_MAX)
      throw refuse(409, 'too-many-invitations', `there are ${String(INVITATIONS_MAX)} invitations already`, {
        hint: 'each is forgotten a day after its end',
      });
    return old.slice(0, REMOVED_AT_ONCE_MAX);
  }

  async #all(): Promise<readonly Invitation[]> {
    const { store, keys } = this.#deps;
    const { entries } = await store.list(keys.invitations);
    return [...entries.values()].map((entry) => this.#decode(entry)).filter((one) => one !== null);
  }

  #decode({ key, value }: Entry): Invitation | null {
    try {
      return invitationCodec.decode(value);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      this.#deps.log.error({ key, error }, 'a record cannot be read and is left out');
      return null;
    }
  }
}

interface Found {
  readonly entry: Entry;
  readonly invitation: Invitation;
}

function gone(): Error {
  return refuse(403, 'invitation-gone', 'this invitation is no longer on record', AGAIN);
}

function ended({ host, endsAtMs }: Invitation): Error {
  return refuse(
    403,
    'invitation-ended',
    `this token for ${host} ended at ${new Date(endsAtMs).toISOString()}`,
    AGAIN,
  );
}

function used({ host, asked }: Invitation): Error {
  return refuse(
    403,
    'invitation-used',
    `this token was used for ${host} at ${new Date(asked?.atMs ?? 0).toISOString()}, with another key; it gives one certificate`,
    {
      hint: `was that none of yours, give ${host} up (moorage host remove); moorage host invite makes another token`,
    },
  );
}

const AGAIN = { hint: 'an operator makes another: moorage host invite NAME --san ADDRESS' };
