import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runArbiter } from '../../arbiter/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { runMonitor } from '../../monitor/main.ts';
import { runScheduler } from '../../schedulers/main.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import type { Log, LogFields } from '../../src/ports/telemetry.ts';
import { useEtcd } from '../support/etcd.ts';
import { PLAIN_SHIM } from '../support/real-host.ts';
import type { ServerRole } from '../support/rights-table.ts';
import { servedRoutes } from '../support/rights-table.ts';

const RUNS = Number(process.env['MOORAGE_FUZZ_RUNS'] ?? 500);
/** Of the whole: a request takes a few milliseconds. */
const TIMEOUT_MS = 60_000 + RUNS * 100;
/** Longer than any line that a role writes by itself, and a tenth of the bodies that are sent. */
const LINE_CHARS_MAX = 4_096;
const LONG_CHARS = 48_000;
const ROUTES = servedRoutes().filter(({ method }) => method !== 'CHANNEL');

const etcd = useEtcd();
const addresses: Partial<Record<ServerRole, string>> = {};
const stops: (() => Promise<unknown> | void)[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
let longestLine = '';
const note = (fields: LogFields, message: string): void => {
  const { error, ...rest } = fields;
  const told = error instanceof Error ? `${error.message}${error.stack ?? ''}` : JSON.stringify(error ?? '');
  const line = `${message} ${JSON.stringify(rest)} ${told}`;
  if (line.length > longestLine.length) longestLine = line;
};
const log: Log = { debug: note, info: note, warn: note, error: note };

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-fuzz-'));
  stops.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  stops.push(() => agent.destroy());
  const { signingKeyFile, pinnedKeysFile } = await makeKeyFiles(join(folder, 'keys'));
  const common = {
    ...{ cell: 'fuzz', etcd: [etcd.url], version: '0', log, reach: {} },
    listen: { host: '127.0.0.1', port: 0 },
  };
  const stateFolder = join(folder, 'host-1');
  for (const [role, running] of [
    ['monitor', await runMonitor({ ...common, id: 'monitor-1' })],
    ['arbiter', await runArbiter({ ...common, id: 'arbiter-1', signingKeyFile })],
    ['scheduler', await runScheduler({ ...common, id: 'batch-1', kind: 'batch', enforcement: true })],
    ['agent', await runAgent({ ...common, id: 'host-1', pinnedKeysFile, shim: PLAIN_SHIM, stateFolder })],
  ] as const) {
    addresses[role] = running.address;
    stops.push(() => running.stop());
  }
});
afterAll(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Sent {
  readonly route: (typeof ROUTES)[number];
  readonly words: readonly string[];
  readonly query: readonly (readonly [string, string])[];
  readonly body: Buffer | null;
}

const word = fc.oneof(
  fc.constantFrom('default', 'a', 'host-1', '..', '%2e%2e', '__proto__', 'constructor', '\0', '-1', '1e999'),
  fc.string({ maxLength: 140 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
const key = fc.constantFrom(
  ...['name', 'type', 'groups', 'tasks', 'command', 'namespace', 'count', 'resources', 'cpu', 'memory', 'v'],
  ...['allocation', 'ticket', 'tickets', 'scheduler', 'state', 'id', 'stdin', 'signal', 'env', '__proto__'],
);
const value = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: 'small' }, tie('leaf'), tie('list'), tie('record')),
  leaf: fc.oneof(word, fc.integer(), fc.double(), fc.boolean(), fc.constant(null)),
  list: fc.array(tie('any'), { maxLength: 5 }),
  record: fc.dictionary(fc.oneof(key, word), tie('any'), { maxKeys: 8 }),
})).any;
const body = fc.oneof(
  fc.constant(null),
  value.map((one) => Buffer.from(JSON.stringify(one))),
  fc.dictionary(key, value, { maxKeys: 8 }).map((one) => Buffer.from(JSON.stringify(one))),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  key.map((name) => Buffer.from(JSON.stringify({ [name]: 'x'.repeat(LONG_CHARS) }))),
  fc.nat(3_000).map((depth) => Buffer.from('['.repeat(depth))),
);
const sent: fc.Arbitrary<Sent> = fc.record({
  route: fc.constantFrom(...ROUTES),
  words: fc.array(word, { minLength: 3, maxLength: 3 }),
  query: fc.array(
    fc.tuple(
      fc.oneof(fc.constantFrom('follow', 'offset', 'stream', 'after', 'namespace', 'limit', 'wait'), word),
      word,
    ),
    { maxLength: 4 },
  ),
  body,
});

/** A stream is left at its first bytes. */
function statusOf({ route, words, query, body: bytes }: Sent): Promise<number> {
  let at = 0;
  const path = route.path.replaceAll(/:\w+/g, () => encode(words[at++] ?? 'x'));
  const asked = query.map(([name, text]) => `${encode(name)}=${encode(text)}`).join('&');
  const url = `${addresses[route.server] ?? ''}${path}${asked === '' ? '' : `?${asked}`}`;
  const headers =
    bytes === null ? {} : { 'content-type': 'application/json', 'content-length': bytes.length };
  return new Promise((resolve, reject) => {
    const call = request(url, { method: route.method, agent, headers }, (answer) => {
      resolve(answer.statusCode ?? 0);
      answer.once('error', () => undefined);
      if (answer.headers['content-length'] === undefined) call.destroy();
      else answer.resume();
    });
    call.once('error', reject);
    call.end(bytes ?? undefined);
  });
}

/** Half of a pair has no form in an address. */
function encode(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

it(
  `whatever ${String(RUNS)} requests bring, every route answers it, and logs no more of it than of any other`,
  async () => {
    await fc.assert(
      fc.asyncProperty(sent, async (one) => {
        const status = await statusOf(one);
        // 503 is an answer too: who is asked waits for something that is not there.
        expect(status < 500 || status === 503, `${one.route.path} answers ${String(status)}`).toBe(true);
      }),
      { numRuns: RUNS },
    );
    expect(longestLine.length, longestLine.slice(0, 500)).toBeLessThan(LINE_CHARS_MAX);
    for (const address of Object.values(addresses))
      expect((await fetch(`${address}/livez`)).status).toBe(200);
  },
  TIMEOUT_MS,
);
