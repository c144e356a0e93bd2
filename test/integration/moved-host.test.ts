import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { runScheduler } from '../../schedulers/main.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { hostCodec, jobCodec } from '../../src/wire/records/records.ts';
import { amounts, makeHost } from '../unit/core/placement/placement-fixtures.ts';
import { makeJob } from '../unit/schedulers/cell-world.ts';
import { useEtcd } from '../support/etcd.ts';

const TASKS = 6;

const etcd = useEtcd();
const ends: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** One life of a host's agent: a port, and the orders to start that came there. */
class Place {
  readonly started: string[] = [];
  #address = '';
  readonly #answers: boolean;
  #waiting: { readonly count: number; readonly resolve: () => void } | null = null;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(answers: boolean) {
    this.#answers = answers;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.#address = `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
    ends.push(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    return this;
  }

  get address(): string {
    return this.#address;
  }

  /** When so many orders to start have come. */
  until(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { count, resolve };
      this.#look();
    });
  }

  #look(): void {
    if (this.#waiting !== null && this.started.length >= this.#waiting.count) this.#waiting.resolve();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const order = request.method === 'PUT' ? ((await json(request)) as { allocation: Allocation }) : null;
    if (order !== null) this.started.push(order.allocation.id);
    this.#look();
    if (!this.#answers) return;
    const known = { state: 'running', released: false, reason: '', restarts: 0, tasks: {} };
    if (order !== null) say(response, 200, { report: { ...order.allocation, ...known } });
    else say(response, 404, { status: 404, code: 'no-allocation', detail: 'never heard of it' });
  }
}

function say(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

async function put(store: CellStore, key: string, value: string): Promise<void> {
  await store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
}

it('S4.29 starts that wait for a host go to where it is now, when it has come back on another port', async () => {
  const cell = etcd.cellName();
  const keys = cellKeys(cell);
  const store = etcd.store();
  const [before, after] = [await new Place(false).listen(), await new Place(true).listen()];
  const record = (address: string): string =>
    hostCodec.encode(
      makeHost('h1', {
        ...{ address, capacity: amounts(1_000 * TASKS, 4_096) },
        attributes: { os: 'linux', 'driver.exec': 'true' },
      }),
    );
  await put(store, keys.host('h1'), record(before.address));
  await put(store, keys.aliveOf('h1'), '{}');
  const scheduler = await runScheduler({
    ...{ id: 'batch-1', kind: 'batch', cell, etcd: [etcd.url], enforcement: false },
    ...{ log: silentLog, listen: { host: '127.0.0.1', port: 0 } },
  });
  ends.push(() => scheduler.stop());
  const job = makeJob('web', {}, { count: TASKS });
  await put(
    store,
    keys.job('default', 'web'),
    jobCodec.encode({ job, version: 1, desired: 'run', submittedAtMs: 1 }),
  );
  // As many as are sent to a host that has not answered yet: the others wait.
  await before.until(2);
  await put(store, keys.host('h1'), record(after.address));
  await after.until(TASKS - 2);
  // None of those waited for the deadline of what hangs at the old place.
  expect(after.started.filter((id) => before.started.includes(id))).toEqual([]);
  await after.until(TASKS);
  expect(new Set(after.started).size).toBe(TASKS);
  expect(before.started.length).toBe(2);
}, 60_000);
