import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TOKENS_MAX } from '../../../../src/core/access/token.ts';
import type { NewToken, TokenListAnswer } from '../../../../src/wire/access/token-api.ts';
import { tokenCodec } from '../../../../src/wire/records/records.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

describe('tokens through a monitor', () => {
  let world: MonitorWorld;
  let address: string;
  beforeEach(async () => {
    world = new MonitorWorld();
    ({ address } = await world.monitor());
  });
  afterEach(() => world.close());

  const FINE = { name: 'bob', scope: 'submit', namespaces: ['team-a'], ttlMs: 60_000 };
  const create = (body: unknown) => world.call('POST', `${address}/v1/tokens`, body);
  const list = async (): Promise<TokenListAnswer> =>
    (await world.call('GET', `${address}/v1/tokens`)).body as TokenListAnswer;

  it('S4.13 shows a token once, at its making', async () => {
    const made = await create(FINE);
    expect(made).toMatchObject({ status: 201, body: { scope: 'submit', createdBy: 'operator' } });
    const { token, id } = made.body as NewToken;
    expect(token).toMatch(new RegExp(`^moorage\\.${id}\\.[0-9a-f]{64}$`));
    expect(JSON.stringify(await list())).not.toMatch(/hash|[0-9a-f]{64}/);
    expect((await world.call('DELETE', `${address}/v1/tokens/${id}`)).status).toBe(204);
    expect((await list()).tokens).toEqual([]);
    expect((await world.call('DELETE', `${address}/v1/tokens/${id}`)).status).toBe(404);
  });

  it.each([
    ['no name', { ...FINE, name: '' }],
    ['an unknown scope', { ...FINE, scope: 'root' }],
    ['no namespace among none', { ...FINE, namespaces: [] }],
    ['a name that is no namespace', { ...FINE, namespaces: ['a/b'] }],
    ['an end beyond a year', { ...FINE, ttlMs: 367 * 86_400_000 }],
    ['no end', { ...FINE, ttlMs: undefined }],
    ['single namespaces for a scope of the cell', { ...FINE, scope: 'admin' }],
    ['a field that is none', { ...FINE, by: 'somebody' }],
  ])('refuses %s', async (_what, body) => {
    expect((await create(body)).status).toBe(400);
    expect((await list()).tokens).toEqual([]);
  });

  it('a cell has a bounded number of them; those that have ended make room', async () => {
    const record = (n: number, endsAtMs: number) => {
      const id = `t${String(n)}`;
      const more = { scope: 'read', namespaces: null, createdBy: 'x', createdAtMs: 0, endsAtMs } as const;
      return {
        kind: 'put',
        key: world.keys.token(id),
        value: tokenCodec.encode({ id, name: id, hash: '', ...more }),
      } as const;
    };
    const laterMs = world.clock.nowMs() + 60_000;
    for (let n = 0; n < TOKENS_MAX; n += 64)
      await world.write(Array.from({ length: 64 }, (_, i) => record(n + i, laterMs)));
    expect(await create(FINE)).toMatchObject({ status: 409, body: { code: 'too-many-tokens' } });
    await world.write([record(0, 1), record(1, 1)]);
    expect((await create(FINE)).status).toBe(201);
    expect((await list()).tokens).toHaveLength(TOKENS_MAX - 1);
  });
});
