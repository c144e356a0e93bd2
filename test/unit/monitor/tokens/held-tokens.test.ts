import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HeldTokens } from '../../../../monitor/tokens/held-tokens.ts';
import { Tokens } from '../../../../monitor/tokens/tokens.ts';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import type { Admission } from '../../../../src/ports/http.ts';
import type { NewToken } from '../../../../src/wire/access/token-api.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

/** What `docs/security.md` says of a revoked token. */
const BOUND_MS = 5_000;
const AWAY_BOUND_MS = 30_000;

describe('tokens that come with requests', () => {
  let clock: ManualClock;
  let store: MemoryCellStore;
  let tokens: Tokens;
  let held: HeldTokens;
  let reads: number;
  let isAway: boolean;

  beforeEach(() => {
    clock = new ManualClock();
    store = new MemoryCellStore({ clock, cell: new MemoryCell({ clock }) });
    [reads, isAway] = [0, false];
    const counted: CellStore = Object.assign(Object.create(store) as MemoryCellStore, {
      read: (keys: readonly string[]) => {
        reads += 1;
        const away = new StoreError('unavailable', 'away', { retryable: true });
        return isAway ? Promise.reject(away) : store.read(keys);
      },
    });
    const common = {
      keys: cellKeys('test'),
      clock,
      random: seededRandom(1),
      digest: sha256Hex,
      log: silentLog,
    };
    tokens = new Tokens({ ...common, store });
    held = new HeldTokens({ ...common, store: counted });
  });
  afterEach(() => held.close());

  const make = (ttlMs = 3_600_000): Promise<NewToken> =>
    tokens.create({ name: 'bob', scope: 'submit', namespaces: ['a'], ttlMs }, 'operator/ann');

  async function admitted(token: string): Promise<Admission> {
    const admission = await held.admit(token);
    if (typeof admission === 'string' || 'why' in admission) throw new Error(JSON.stringify(admission));
    return admission;
  }

  it('S4.13 knows who holds one, and keeps no more than a hash in the store', async () => {
    const { token, id } = await make();
    const { person } = await admitted(token);
    expect(person).toMatchObject({ role: 'person', id, name: 'bob', scope: 'submit', namespaces: ['a'] });
    const { entries } = await store.list(cellKeys('test').root);
    const secret = token.split('.')[2] ?? '';
    expect(secret).toHaveLength(64);
    for (const { value } of entries.values()) expect(value).not.toContain(secret);
    expect([...entries.values()].some(({ value }) => value.includes(sha256Hex(token)))).toBe(true);
  });

  it('asks the store once for many requests, and for every one that nobody made', async () => {
    const { token } = await make();
    for (let n = 0; n < 5; n++) await admitted(token);
    expect(reads).toBe(1);
    const madeUp = token.replace(/\.\w{26}\./, `.${'0'.repeat(26)}.`);
    expect(await held.admit(madeUp)).toBe('unknown');
    expect(await held.admit('moorage..')).toBe('unknown');
    expect(reads).toBe(2);
    // As many at once as it likes: the others are told to ask again.
    const answers = await Promise.all(Array.from({ length: 50 }, () => held.admit(madeUp)));
    expect(answers.filter((answer) => answer === 'unsure').length).toBe(42);
  });

  it('one that another monitor revoked ends within the bound, with all that is open', async () => {
    const { token, id } = await make();
    const { ended } = await admitted(token);
    await tokens.revoke(id);
    expect(ended.aborted).toBe(false);
    await clock.advance(BOUND_MS);
    expect(ended.aborted).toBe(true);
    expect(await held.admit(token)).toBe('unknown');
  });

  it('while the store is away it counts for a bounded time, and again when the store says so', async () => {
    const { token } = await make();
    const { ended } = await admitted(token);
    isAway = true;
    await clock.advance(AWAY_BOUND_MS - 5_001);
    expect(ended.aborted).toBe(false);
    await admitted(token);
    await clock.advance(5_001);
    expect(ended.aborted).toBe(true);
    expect(await held.admit(token)).toBe('unsure');
    isAway = false;
    expect((await admitted(token)).ended.aborted).toBe(false);
  });

  it('ends at its end, not at the next look', async () => {
    const { token } = await make(7_000);
    const { ended } = await admitted(token);
    await clock.advance(6_999);
    expect(ended.aborted).toBe(false);
    await clock.advance(1);
    expect(ended.aborted).toBe(true);
    expect(await held.admit(token)).toBe('unknown');
  });

  it('leaves no timer behind', async () => {
    await admitted((await make()).token);
    held.close();
    await settle();
    expect(clock.pending).toBe(0);
  });
});
