import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { pinoLog } from '../../../../src/adapters/telemetry/telemetry.ts';

const TOKEN = 'v4.public.eyJhIjoxfQ-_abc.a2V5';
const TICKET = `moorage-ticket-2.17.cGF0aA.Ym9keQ.${TOKEN}`;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'moorage-log-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function said(fields: Record<string, unknown>, message: string): Promise<string> {
  const file = join(folder, `${String(Math.random())}.log`);
  pinoLog({ component: 'agent', id: 'host-a', file }).info(fields, message);
  return readFile(file, 'utf8');
}

describe('pinoLog', () => {
  it('writes one line of JSON with component, id, level and time', async () => {
    const text = await said({ alloc: 'a1', note: 'two\nlines' }, 'started');
    expect(text.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(text)).toMatchObject({
      level: 'info',
      component: 'agent',
      id: 'host-a',
      alloc: 'a1',
      note: 'two\nlines',
      msg: 'started',
    });
  });

  it('I65 lets no ticket, token or environment value through, wherever it lies', async () => {
    const cause = new Error(`cannot verify ${TOKEN}`);
    const text = await said(
      {
        ticket: TOKEN,
        request: {
          launch: { tasks: { main: { env: { PASSWORD: 'hunter2', HOME: '/root' } } } },
          Authorization: 'Bearer x1y2',
        },
        list: [{ token: 'secret-token' }],
        error: new Error('failed', { cause }),
      },
      `refused ${TOKEN} and ${TICKET} too`,
    );
    for (const secret of ['eyJhIjoxfQ', 'cGF0aA', 'Ym9keQ', 'hunter2', '/root', 'x1y2', 'secret-token'])
      expect(text).not.toContain(secret);
    for (const kept of ['PASSWORD', 'HOME', 'cannot verify', 'failed', 'refused', ' too'])
      expect(text).toContain(kept);
  });

  it('a peer that is away is one short line, with its stacks at debug level only', async () => {
    const inner = new Error('14 UNAVAILABLE: connect ECONNREFUSED 127.0.0.1:2379');
    const middle = new Error(`lease grant: ${inner.message}`, { cause: inner });
    const error = new StoreError('unavailable', middle.message, { retryable: true, cause: middle });
    const text = await said({ error }, 'cannot register');
    expect(JSON.parse(text)).toMatchObject({
      error: `unavailable: ${middle.message}`,
      msg: 'cannot register',
    });
    expect(text.length).toBeLessThan(300);
    const file = join(folder, 'debug.log');
    pinoLog({ component: 'agent', file, level: 'debug' }).warn({ error }, 'cannot register');
    expect(await readFile(file, 'utf8')).toMatch(/"cause":.*"cause":.*telemetry\.test\.ts/);
    // A fault of our own keeps its stack: it is what mends it.
    expect(await said({ error: new TypeError('x is no function') }, 'oh')).toContain('telemetry.test.ts');
  });

  it('says nothing below its level', async () => {
    const file = join(folder, 'level.log');
    const log = pinoLog({ component: 'agent', file, level: 'warn' });
    log.info({}, 'not this');
    log.warn({}, 'but this');
    const text = await readFile(file, 'utf8');
    expect(text).not.toContain('not this');
    expect(text).toContain('but this');
  });
});
