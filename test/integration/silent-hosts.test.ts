import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { runScheduler } from '../../schedulers/main.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { allocationCodec, hostCodec, jobCodec, ledgerCodec } from '../../src/wire/records/records.ts';
import { amounts, makeHost } from '../unit/core/placement/placement-fixtures.ts';
import { makeJob } from '../unit/schedulers/cell-world.ts';
import { useEtcd } from '../support/etcd.ts';

const HOSTS = 60;
const SILENT = 12;
const A_HOST = 10;
const RUNNING = { state: 'running', released: false, reason: '', restarts: 0, tasks: {} };
const INCARNATION = '6b1e7a3c-0000-4000-8000-000000000000';

const etcd = useEtcd();
const ends: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** All hosts: they say what runs there and start what they are told; those of the first ids take every call and answer none. */
class Hosts {
  readonly running = new Map<string, Allocation>();
  /** The silent ones that were asked what runs on them. */
  readonly asked = new Set<string>();
  #open = 0;
  #onClose: () => void = () => undefined;
  readonly #server = createServer((request, response) => this.#answer(request, response));

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    ends.push(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
  }

  addressOf(id: string): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/${id}`;
  }

  /** When every question that gets no answer was given up. */
  givenUp(): Promise<void> {
    return new Promise((resolve) => {
      this.#onClose = () => void (this.#open === 0 && resolve());
      this.#onClose();
    });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method, url = '' } = request;
    const host = url.split('/')[1] ?? '';
    const isQuestion = method === 'GET' && url.endsWith('/v1/allocations');
    if (Number(host.slice(1)) < SILENT) {
      if (!isQuestion) return;
      this.asked.add(host);
      this.#open += 1;
      response.on('close', () => {
        this.#open -= 1;
        this.#onClose();
      });
    } else if (isQuestion) this.#list(host, response);
    else if (method === 'PUT') void this.#start(request, response);
  }

  #list(host: string, response: ServerResponse): void {
    const there = [...this.running.values()].filter((allocation) => allocation.host === host);
    const allocations = there.map((allocation) => ({ ...allocation, ...RUNNING }));
    say(response, { host, incarnation: 1, seq: 1, allocations });
  }

  async #start(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { allocation } = (await json(request)) as { allocation: Allocation };
    this.running.set(allocation.id, allocation);
    say(response, { report: { ...allocation, ...RUNNING } });
  }
}

function say(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

/** A host that one of lower precedence fills. */
function full(n: number, hosts: Hosts, keys: ReturnType<typeof cellKeys>): Write[] {
  const id = `h${String(n).padStart(3, '0')}`;
  const resources = amounts(1_000 * A_HOST, 64);
  const attributes = { os: 'linux', 'driver.exec': 'true' };
  const host = makeHost(id, {
    address: hosts.addressOf(id),
    capacity: amounts(1_000 * A_HOST, 4_096),
    attributes,
  });
  const low: Allocation = {
    ...{
      id: `01hf7yat00${String(n).padStart(16, '0')}`,
      host: id,
      precedence: 10,
      resources,
      gpus: [],
      ports: {},
    },
    ...{ namespace: 'default', job: 'low', jobVersion: 1, group: 'low', index: n, attempt: 1 },
    ...{ scheduler: 'service-1', desired: 'run', planId: 'p', createdAtMs: 1_700_000_000_000 },
    epoch: { incarnation: INCARNATION, counter: 0 },
  };
  hosts.running.set(low.id, low);
  const put = (key: string, value: string): Write => ({ kind: 'put', key, value });
  return [
    put(keys.host(id), hostCodec.encode(host)),
    put(keys.aliveOf(id), '{}'),
    put(keys.ledger(id), ledgerCodec.encode(withClaim(EMPTY_LEDGER, low))),
    put(keys.allocation('default', 'low', low.id), allocationCodec.encode(low)),
  ];
}

/** When so many allocations of the job are there, and no intent. */
function whole(
  store: CellStore,
  keys: ReturnType<typeof cellKeys>,
  job: string,
  count: number,
): Promise<void> {
  const prefix = `${keys.allocations}default/${job}/`;
  const members = new Set<string>();
  const intents = new Set<string>();
  return new Promise((resolve) => {
    const follow = (name: string, there: Set<string>): void => {
      const look = (): void => void (members.size === count && intents.size === 0 && resolve());
      const feed = store.follow(name, {
        onSnapshot: (snapshot) => {
          for (const key of snapshot.entries.keys()) there.add(key);
          look();
        },
        onChanges: (changes) => {
          for (const change of changes)
            if (change.kind === 'put') there.add(change.entry.key);
            else there.delete(change.key);
          look();
        },
      });
      ends.push(() => feed.close());
    };
    follow(prefix, members);
    follow(keys.intents, intents);
  });
}

it('S3.10 gangs get their room from hosts that answer, beside some that take calls and answer none', async () => {
  const cell = etcd.cellName();
  const keys = cellKeys(cell);
  const store = etcd.store();
  const hosts = new Hosts();
  await hosts.listen();
  for (let n = 0; n < HOSTS; n++)
    await store.attempt({ compares: [], writes: full(n, hosts, keys), readBack: [] });
  const scheduler = await runScheduler({
    ...{ id: 'batch-1', kind: 'batch', cell, etcd: [etcd.url], enforcement: false },
    ...{ log: silentLog, listen: { host: '127.0.0.1', port: 0 } },
  });
  ends.push(() => scheduler.stop());
  // So many that every host which answers is needed in the end, and some silent ones are asked on the way.
  for (const [job, count] of [
    ['first', 20 * A_HOST],
    ['second', 28 * A_HOST],
  ] as const) {
    const there = whole(store, keys, job, count);
    const spec = makeJob(job, { precedence: 80 }, { count, gang: true });
    const value = jobCodec.encode({ job: spec, version: 1, desired: 'run', submittedAtMs: 1 });
    await store.attempt({
      compares: [],
      writes: [{ kind: 'put', key: keys.job('default', job), value }],
      readBack: [],
    });
    await there;
    await hosts.givenUp();
  }
  expect(hosts.asked.size).toBeGreaterThan(0);
  for (const job of ['first', 'second']) {
    const { entries } = await store.list(`${keys.allocations}default/${job}/`);
    const places = [...entries.values()].map(({ value }) => allocationCodec.decode(value).host);
    expect(places.filter((host) => Number(host.slice(1)) < SILENT)).toEqual([]);
  }
}, 120_000);
