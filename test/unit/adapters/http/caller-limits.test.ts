import { request } from 'node:https';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallerLimits } from '../../../../src/adapters/http/caller-limits.ts';
import { undiciClient } from '../../../../src/adapters/http/client.ts';
import { fastifyServer } from '../../../../src/adapters/http/http.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { Identity } from '../../../../src/core/access/identity.ts';
import type { Person } from '../../../../src/core/access/person.ts';
import type { Route } from '../../../../src/ports/http.ts';
import { TestAuthority } from '../../../support/credentials.ts';

const person = (id: string): Person => ({
  ...{ role: 'person', id, name: id, scope: 'read', namespaces: null },
  endsAtMs: Number.MAX_SAFE_INTEGER,
});
const scheduler: Identity = { cell: 'c', role: 'scheduler', id: 's1' };
const isRefused = (answer: ReturnType<CallerLimits['enter']>): boolean => typeof answer !== 'function';

describe('how much of a server one caller takes', () => {
  it('a person: a burst, then so many a second, and nobody else is any slower', () => {
    let nowMs = 0;
    const limits = new CallerLimits(1_000, () => nowMs);
    const fates = Array.from({ length: 150 }, () => isRefused(limits.enter(person('greedy'))));
    expect(fates.filter((refused) => !refused)).toHaveLength(100);
    expect(isRefused(limits.enter(person('honest')))).toBe(false);
    expect(isRefused(limits.enter(scheduler))).toBe(false);
    nowMs = 1_000;
    const later = Array.from({ length: 100 }, () => isRefused(limits.enter(person('greedy'))));
    expect(later.filter((refused) => !refused)).toHaveLength(50);
  });

  it('anybody: so many requests under way, until one is over', () => {
    const limits = new CallerLimits(2, () => 0);
    const [first] = [limits.enter(scheduler), limits.enter(scheduler)];
    expect(limits.enter(scheduler)).toMatchObject({ status: 429, code: 'too-many-requests' });
    if (typeof first !== 'function') throw new Error('the first was refused');
    first();
    first();
    expect(isRefused(limits.enter(scheduler))).toBe(false);
    expect(isRefused(limits.enter(scheduler))).toBe(true);
    expect(isRefused(limits.enter({ ...scheduler, id: 's2' }))).toBe(false);
  });

  it('keeps nothing of callers that are gone, whatever they did', () => {
    const calls = fc.array(fc.record({ who: fc.nat(200), waitMs: fc.nat(500), stays: fc.boolean() }), {
      maxLength: 500,
    });
    fc.assert(
      fc.property(calls, (all) => {
        let nowMs = 0;
        const limits = new CallerLimits(8, () => nowMs);
        const open: (() => void)[] = [];
        for (const { who, waitMs, stays } of all) {
          nowMs += waitMs;
          const leave = limits.enter(person(`p${String(who)}`));
          if (typeof leave !== 'function') continue;
          if (stays) open.push(leave);
          else leave();
        }
        for (const leave of open) leave();
        nowMs += 4_000;
        limits.enter(person('last'));
        expect(limits.size).toBe(1);
      }),
      { numRuns: 200 },
    );
  });
});

describe('a server whose caller asks for more than its share', () => {
  it('answers it 429 with Retry-After, while others are served, until it has less under way', async () => {
    using authority = await TestAuthority.of('c');
    let [release, allHeld] = [(): void => undefined, (): void => undefined];
    const held = new Promise<void>((resolve) => (release = resolve));
    const full = new Promise<void>((resolve) => (allHeld = resolve));
    let heldCount = 0;
    const routes: readonly Route[] = [
      {
        ...{ method: 'GET', path: '/v1/hold', right: 'read' },
        handle: async () => {
          heldCount += 1;
          if (heldCount === 4) allHeld();
          await held;
          return { status: 200, body: {} };
        },
      },
      { method: 'GET', path: '/v1/look', right: 'read', handle: async () => ({ status: 200, body: {} }) },
    ];
    const credentials = await authority.credentials('monitor', 'm1');
    const server = await fastifyServer({ log: silentLog, credentials, connectionsMax: 8 }).listen(routes, {
      ...{ host: '127.0.0.1', port: 0, bodyBytesMax: 1_024 },
      admit: async () => ({ person: person('greedy'), ended: new AbortController().signal }),
    });
    const operator = undiciClient({ credentials: await authority.credentials('operator', 'ann') });
    const ca = credentials.now.authorities;
    const holding = Array.from({ length: 4 }, () => bearerCall(`${server.address}/v1/hold`, ca));
    await full;
    expect(await bearerCall(`${server.address}/v1/look`, ca)).toEqual({ status: 429, retryAfter: '1' });
    const answer = await operator.call({
      method: 'GET',
      url: `${server.address}/v1/look`,
      timeoutMs: 60_000,
    });
    expect(answer.status).toBe(200);
    release();
    for (const { status } of await Promise.all(holding)) expect(status).toBe(200);
    await operator.close();
    await server.close(0);
  });
});

function bearerCall(
  url: string,
  ca: string,
): Promise<{ readonly status: number | undefined; readonly retryAfter: string | undefined }> {
  return new Promise((resolve, reject) => {
    const call = request(url, { ca, headers: { authorization: 'Bearer any' } }, (answer) => {
      answer.resume();
      answer.once('end', () =>
        resolve({ status: answer.statusCode, retryAfter: answer.headers['retry-after'] }),
      );
    });
    call.once('error', reject);
    call.end();
  });
}
