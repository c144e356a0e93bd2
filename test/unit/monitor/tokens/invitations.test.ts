import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Invitations } from '../../../../monitor/tokens/invitations.ts';
import { INVITATIONS_MAX } from '../../../../src/core/access/invitation.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { NewInvitation } from '../../../../src/wire/join/join.ts';
import { invitationCodec } from '../../../../src/wire/records/records.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

const HOUR_MS = 3_600_000;
const MINE = { publicKey: 'my key', proof: 'p' };
const OTHER = { publicKey: 'another key', proof: 'p' };
const ANSWER = { text: 'a bundle', signature: 's' };

describe('S4.13 invitations of hosts', () => {
  let world: MonitorWorld;
  let invitations: Invitations;
  beforeEach(() => {
    world = new MonitorWorld();
    invitations = newOne(1);
  });
  afterEach(() => world.close());

  function newOne(seed: number): Invitations {
    const { clock, keys } = world;
    const more = { random: seededRandom(seed), log: silentLog, digest: sha256Hex };
    return new Invitations({ store: world.newStore(), keys, clock, ...more });
  }
  const invite = (ttlMs = HOUR_MS): Promise<NewInvitation> =>
    invitations.create({ host: 'host-b', hosts: ['10.0.0.2'], ttlMs }, 'operator/ann');
  const gone = AbortSignal.abort();

  async function answer(id: string): Promise<void> {
    const record = await world.read(world.keys.invitation(id), invitationCodec);
    if (record === null) throw new Error('there is no such invitation');
    const value = invitationCodec.encode({ ...record, answer: ANSWER });
    await world.write([{ kind: 'put', key: world.keys.invitation(id), value }]);
  }

  it('are kept as hashes, and admit who shows the secret, and nobody else', async () => {
    const { id, shown } = await invite();
    const key = world.keys.invitation(id);
    const { entries } = await world.store.read([key]);
    expect(entries.get(key)?.value).not.toContain(shown.split('.')[2]);
    expect(await invitations.admit(shown)).toMatchObject({ person: { role: 'invited', id, host: 'host-b' } });
    const last = shown.at(-1) ?? '';
    for (const wrong of [
      `${shown.slice(0, -1)}${last === '0' ? '1' : '0'}`,
      `moorage.${id}.00`,
      'x',
      `${shown}.x`,
    ])
      expect(await invitations.admit(wrong)).toBe('unknown');
  });

  it('are of one key: the same may ask again, and gets the same certificate; another is refused', async () => {
    const { id } = await invite();
    expect(await invitations.join(id, MINE, gone)).toEqual({ state: 'waiting' });
    await expect(invitations.join(id, OTHER, gone)).rejects.toThrow('was used for host-b');
    await answer(id);
    for (let n = 0; n < 2; n++)
      expect(await invitations.join(id, MINE, gone)).toEqual({ state: 'answered', answer: ANSWER });
    await expect(invitations.join(id, OTHER, gone)).rejects.toThrow('was used for host-b');
  });

  it('are listed with what came of them, and never with what it takes to use one', async () => {
    const [open, asked, used] = [await invite(), await invite(), await invite()];
    const ended = await invite(1);
    await invitations.join(asked.id, MINE, gone);
    await invitations.join(used.id, MINE, gone);
    await answer(used.id);
    await world.clock.advance(2);
    const listed = await invitations.list();
    expect(Object.fromEntries(listed.map(({ id, state }) => [id, state]))).toEqual({
      ...{ [open.id]: 'open', [asked.id]: 'asked', [used.id]: 'used', [ended.id]: 'ended' },
    });
    expect(listed.find(({ id }) => id === asked.id)).toMatchObject({
      ...{ host: 'host-b', hosts: ['10.0.0.2'], createdBy: 'operator/ann' },
      askedAtMs: world.clock.nowMs() - 2,
    });
    const text = JSON.stringify(listed);
    for (const { shown } of [open, asked, used, ended])
      for (const secret of [shown.split('.')[2] ?? '', sha256Hex(shown)]) expect(text).not.toContain(secret);
  });

  it('are taken back as long as nobody has a certificate by them', async () => {
    const [open, asked, used] = [await invite(), await invite(), await invite()];
    await invitations.join(asked.id, MINE, gone);
    await invitations.join(used.id, MINE, gone);
    await answer(used.id);
    for (const { id, shown } of [open, asked]) {
      await invitations.withdraw(id);
      expect(await invitations.admit(shown)).toBe('unknown');
      await expect(invitations.join(id, MINE, gone)).rejects.toThrow('no longer on record');
      await expect(invitations.withdraw(id)).rejects.toThrow('there is no invitation');
    }
    await expect(invitations.withdraw(used.id)).rejects.toThrow('host-b has its certificate');
    expect((await invitations.list()).map(({ id }) => id)).toEqual([used.id]);
  });

  it('of which a machine asks at the same moment are taken back all the same, or are not', async () => {
    for (let n = 0; n < 10; n++) {
      const { id } = await invite();
      await Promise.all([
        invitations.withdraw(id),
        newOne(n + 2)
          .join(id, MINE, gone)
          .catch(() => undefined),
      ]);
      expect(await invitations.list()).toEqual([]);
    }
  });

  it('of many machines that ask at once, through several monitors, one is taken', async () => {
    const { id } = await invite();
    const asked = Array.from({ length: 8 }, async (_, n) =>
      newOne(n + 2).join(id, { publicKey: `key ${String(n)}`, proof: 'p' }, gone),
    );
    const results = await Promise.allSettled(asked);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('end by time, and say so, for a day', async () => {
    const { id, shown } = await invite(60_000);
    await world.clock.advance(60_000);
    expect(await invitations.admit(shown)).toMatchObject({ person: { host: 'host-b' } });
    await expect(invitations.join(id, MINE, gone)).rejects.toThrow('this token for host-b ended at');
    await world.clock.advance(24 * HOUR_MS);
    await invite();
    expect(await invitations.admit(shown)).toBe('unknown');
  });

  it('asked for in time, the certificate may come later', async () => {
    const { id } = await invite(60_000);
    await invitations.join(id, MINE, gone);
    await world.clock.advance(60_000);
    await answer(id);
    expect(await invitations.join(id, MINE, gone)).toMatchObject({ state: 'answered' });
  });

  it('a cell has a bounded number of them', async () => {
    const { id } = await invite();
    const record = await world.read(world.keys.invitation(id), invitationCodec);
    if (record === null) throw new Error('there is no such invitation');
    for (let n = 0; n < INVITATIONS_MAX; n += 64)
      await world.write(
        Array.from({ length: 64 }, (_, i) => {
          const one = `i${String(n + i)}`;
          return {
            kind: 'put',
            key: world.keys.invitation(one),
            value: invitationCodec.encode({ ...record, id: one }),
          };
        }),
      );
    await expect(invite()).rejects.toThrow('invitations already');
  });
});
