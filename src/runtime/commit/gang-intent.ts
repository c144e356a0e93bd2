import type { Allocation } from '../../core/cell/allocation.ts';
import type { Intent } from '../../core/cell/intent.ts';
import type { CellKeys } from '../../core/cell/keys.ts';
import type { Release, Revert } from '../../core/commit/plan.ts';
import type { AttemptReply, Compare, Write } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import { allocationCodec, intentCodec } from '../../wire/records/records.ts';
import { Backoff } from '../wait/backoff.ts';
import type { RetryPorts } from './read-back.ts';
import { readBack } from './read-back.ts';
import { sleep } from '../wait/wait.ts';

/** The steps of an intent's life in the store; see `core/intent.ts`. All ask until the store answers. */
export interface IntentDeps extends RetryPorts {
  readonly keys: CellKeys;
}

/**
 * For whoever owns the job. Once the session is lost nothing more is sent: where the store is restored meanwhile, the owner's key
 * may be there again as it was, and a request that was tried again until then would land among what it knows nothing of.
 */
export interface OwnerDeps extends IntentDeps {
  readonly session: AbortSignal;
}

/** Again soon when another one was faster, then every few seconds while the store is away. */
const AGAIN = { firstMs: 50, maxMs: 5_000 };

export interface OpenIntent {
  readonly intent: Intent;
  /** What every commit of a member compares. */
  readonly revision: number;
}

/**
 * Writes an open intent. One that got no answer is never used, and another one is written instead: the first might land
 * after its namesake was made effective and deleted, and would make mere reservations of what runs. As it is, it is an
 * intent without members, which somebody sweeps in time.
 *
 * @param make a new intent, with an id of its own, at every call
 * @returns null: the job is not ours any more
 * @throws StoreError that is not retryable
 */
export async function openIntent(
  deps: OwnerDeps,
  make: () => Intent,
  ownerRevision: number,
): Promise<OpenIntent | null> {
  for (;;) {
    const intent = make();
    const key = keyOf(deps.keys, intent);
    const reply = await attemptUntilSent(deps, {
      compares: [
        { key, target: 'createRevision', equals: 0 },
        ownerCompare(deps.keys, intent, ownerRevision),
      ],
      writes: [{ kind: 'put', key, value: intentCodec.encode(intent) }],
    });
    if (reply?.outcome === 'applied') return { intent, revision: reply.revision };
    if (reply === null || reply.outcome === 'refused') return null;
  }
}

/**
 * Makes all members effective, when every one of them is committed.
 *
 * @param held the mod revision of the open intent, and the id of one of its members
 * @returns false: it is void, or the job is another's; whatever was reserved is for a sweep
 * @throws StoreError that is not retryable
 */
export async function makeEffective(
  deps: OwnerDeps,
  intent: Intent,
  held: { readonly revision: number; readonly ownerRevision: number; readonly member: string },
): Promise<boolean> {
  const { keys } = deps;
  const key = keyOf(keys, intent);
  const member = keys.allocation(intent.namespace, intent.job, held.member);
  for (let { revision } = held; ;) {
    const unchanged: Compare = { key, target: 'modRevision', equals: revision };
    const reply = await attemptUntilSent(deps, {
      compares: [unchanged, ownerCompare(keys, intent, held.ownerRevision)],
      writes: [{ kind: 'delete', key }],
    });
    if (reply?.outcome !== 'unknown') return reply?.outcome === 'applied';
    const doubt = {
      fence: {
        compare: unchanged,
        write: { kind: 'put' as const, key, value: intentCodec.encode(intent) },
      },
      evidence: [key, member],
    };
    const settled = await readBack(deps, doubt, deps.session);
    if (settled === null) return false;
    // Whoever makes it void releases the members before the intent goes: one that is there without it is effective.
    if (!settled.fenced) return !settled.found.has(key) && settled.found.has(member);
    revision = settled.revision;
  }
}

/**
 * Ends an intent that shall not come about: makes it void, has its members released, and deletes it. Several may do so at
 * once. Ends when the intent is gone, by whomever and however; it may have become effective just before.
 *
 * @param release commits the releases; what became of them is read from the store
 * @throws StoreError that is not retryable
 */
export async function sweepIntent(
  deps: IntentDeps,
  ref: Pick<Intent, 'namespace' | 'job' | 'id'>,
  release: (releases: readonly Release[]) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff(AGAIN, deps.random);
  while (!signal.aborted) {
    try {
      if (await sweepOnce(deps, ref, release, signal)) return;
    } catch (error) {
      if (!(error instanceof StoreError) || !error.retryable) throw error;
    }
    await sleep(deps.clock, backoff.nextMs(), signal);
  }
}

/**
 * @param signal when it is aborted, nothing is written any more, also not between two steps
 * @returns whether the intent is gone
 */
async function sweepOnce(
  deps: IntentDeps,
  ref: Pick<Intent, 'namespace' | 'job' | 'id'>,
  release: (releases: readonly Release[]) => Promise<unknown>,
  signal: AbortSignal,
): Promise<boolean> {
  const { store, keys } = deps;
  const key = keyOf(keys, ref);
  const entry = (await store.read([key])).entries.get(key);
  if (entry === undefined) return true;
  if (signal.aborted) return false;
  const intent = intentCodec.decode(entry.value);
  let voidedAt = entry.modRevision;
  if (intent.state === 'open') {
    const value = intentCodec.encode({ ...intent, state: 'void' });
    const reply = await replaceAt(deps, key, entry.modRevision, { kind: 'put', key, value });
    if (reply.outcome !== 'applied') return false;
    voidedAt = reply.revision;
  }
  const { entries, revision } = await store.list(keys.allocationsOf(ref.namespace, ref.job));
  // A list from before it was void may lack members that landed since; after it none can.
  if (revision < voidedAt) return false;
  const members: Member[] = [...entries.values()]
    .map(({ value, modRevision }) => ({ allocation: allocationCodec.decode(value), revision: modRevision }))
    .filter(({ allocation }) => allocation.intent === ref.id);
  if (signal.aborted) return false;
  if (members.length > 0) {
    await release(await releasesOf(deps, ref.id, members, voidedAt));
    return false;
  }
  const reply = await replaceAt(deps, key, voidedAt, { kind: 'delete', key });
  return reply.outcome === 'applied';
}

interface Member {
  readonly allocation: Allocation;
  readonly revision: number;
}

/** The members go, and those who had yielded to them come back with what they had, each with the members of its host. */
async function releasesOf(
  { store, keys }: IntentDeps,
  intent: string,
  members: readonly Member[],
  voidedAt: number,
): Promise<Release[]> {
  const names = members.flatMap(({ allocation }) => allocation.displaces ?? []);
  const marked = new Map<string, Revert[]>();
  if (names.length > 0) {
    const { entries } = await store.read(names.map((name) => keys.allocations + name));
    for (const { value, modRevision } of entries.values()) {
      const victim = allocationCodec.decode(value);
      if (victim.yields?.intent.id !== intent) continue;
      const back = { victim, revision: modRevision };
      marked.set(victim.host, [...(marked.get(victim.host) ?? []), back]);
    }
  }
  return members.map((member) => {
    const release: Release = { ...member, outcome: null, voidedAt };
    const { host, evicts } = member.allocation;
    if (evicts === undefined) return release;
    const reverts = marked.get(host) ?? [];
    // One of the members on the host brings all of them; the others go with it.
    marked.delete(host);
    return { ...release, reverts };
  });
}

function replaceAt(
  { store }: IntentDeps,
  key: string,
  revision: number,
  write: Write,
): Promise<AttemptReply> {
  const compares: Compare[] = [{ key, target: 'modRevision', equals: revision }];
  return store.attempt({ compares, writes: [write], readBack: [] });
}

/**
 * Tries again while the store says that it certainly did nothing.
 * @returns null: nothing was done, and the session is lost
 * @throws StoreError that is not retryable
 */
async function attemptUntilSent(
  { store, clock, random, session }: OwnerDeps,
  attempt: { readonly compares: readonly Compare[]; readonly writes: readonly Write[] },
): Promise<AttemptReply | null> {
  const backoff = new Backoff(AGAIN, random);
  for (;;) {
    if (session.aborted) return null;
    try {
      return await store.attempt({ ...attempt, readBack: [] });
    } catch (error) {
      if (!(error instanceof StoreError) || !error.retryable) throw error;
      await sleep(clock, backoff.nextMs(), session);
    }
  }
}

function keyOf(keys: CellKeys, { namespace, job, id }: Pick<Intent, 'namespace' | 'job' | 'id'>): string {
  return keys.intent(namespace, job, id);
}

function ownerCompare(keys: CellKeys, { namespace, job }: Intent, ownerRevision: number): Compare {
  return { key: keys.owner(namespace, job), target: 'createRevision', equals: ownerRevision };
}
