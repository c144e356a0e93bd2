import type { Allocation } from '../../core/cell/allocation.ts';
import type { Intent } from '../../core/cell/intent.ts';
import type { CellKeys } from '../../core/cell/keys.ts';
import type { Release, Revert } from '../../core/commit/plan.ts';
import type { AttemptReply, Compare, Write } from '../../ports/cell-store.ts';
import { allocationCodec, intentCodec } from '../../wire/records/records.ts';
import type { RolePorts } from '../runtime.ts';
import { retryStore } from '../wait/retry.ts';
import { readBack } from './read-back.ts';

/** The steps of an intent's life in the store; see `src/core/cell/intent.ts`. All retry until the store answers. */
export type IntentDeps = Pick<RolePorts, 'store' | 'keys' | 'clock' | 'random'>;

/**
 * For the owner of the job. Once the session is lost nothing more is sent: in a store that is restored meanwhile, the owner
 * key may be there again as it was, and a late retry would write among records that its sender does not know.
 */
export interface OwnerDeps extends IntentDeps {
  readonly session: AbortSignal;
}

export interface OpenIntent {
  readonly intent: Intent;
  /** What every commit of a member compares. */
  readonly revision: number;
}

/**
 * Writes an open intent. One that got no answer is never used, and one with another id is written instead: were the id used
 * again, the first write might be applied after the second was made effective and deleted, and would turn running members
 * into reservations. An unused intent has no members, and a monitor sweeps it when its time is over.
 *
 * @param make a new intent, with an id of its own, at every call
 * @returns null: the caller no longer owns the job
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
 * @returns false: it is void, or the job has another owner; what was reserved is left to a sweep
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
    // A sweep releases the members before it deletes the intent: a member without its intent is effective.
    if (!settled.fenced) return !settled.found.has(key) && settled.found.has(member);
    revision = settled.revision;
  }
}

/**
 * Ends an intent whose gang is not placed: makes it void, has its members released, and deletes it. Several processes may
 * do so at once. Resolves when the intent is gone; it may have become effective just before.
 *
 * @param release commits the releases; their outcome is read from the store
 * @throws StoreError that is not retryable
 */
export async function sweepIntent(
  deps: IntentDeps,
  ref: Pick<Intent, 'namespace' | 'job' | 'id'>,
  release: (releases: readonly Release[]) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  await retryStore(deps, async () => ((await sweepOnce(deps, ref, release, signal)) ? true : null), signal);
}

/**
 * @param signal when it is aborted, nothing more is written, not even between two steps
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
  // A list from before it was void may lack members that were committed since; afterwards none can be.
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

/** The members are released; the victims marked for them run on with what they had, each with the members of its host. */
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
    // The first member on the host carries all of them.
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
 * Retries while the store says that nothing was written.
 * @returns null: nothing was written, and the session is lost
 * @throws StoreError that is not retryable
 */
function attemptUntilSent(
  deps: OwnerDeps,
  attempt: { readonly compares: readonly Compare[]; readonly writes: readonly Write[] },
): Promise<AttemptReply | null> {
  return retryStore(deps, () => deps.store.attempt({ ...attempt, readBack: [] }), deps.session);
}

function keyOf(keys: CellKeys, { namespace, job, id }: Pick<Intent, 'namespace' | 'job' | 'id'>): string {
  return keys.intent(namespace, job, id);
}

function ownerCompare(keys: CellKeys, { namespace, job }: Intent, ownerRevision: number): Compare {
  return { key: keys.owner(namespace, job), target: 'createRevision', equals: ownerRevision };
}
