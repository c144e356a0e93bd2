import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HttpCall } from '../../../../src/ports/http.ts';
import { sleep } from '../../../../src/runtime/wait/wait.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

/** More than a host is sent at once. */
const MANY = 40;
/** Longer than a session lives without its store, and than what waits for a silent host takes. */
const LONG_MS = 60_000;

/** Of one that does not come about. */
const CONNECT_MS = 2_000;

let world: CellWorld;
/** Orders to stop that were sent, and are not answered. */
let stops: HttpCall[];

beforeEach(() => {
  world = new CellWorld();
  stops = [];
});
afterEach(() => world.close());

/** From now on no order to stop is answered. */
function hush(): void {
  world.fate = (call) => {
    if (!call.url.endsWith('/stop')) return 'pass';
    stops.push(call);
    return world.untilDeadline(call);
  };
}

it('I17 orders that waited for their host are not sent by a session that is over', async () => {
  const host = await world.host('h1', 64_000);
  const { store, scheduler } = await world.scheduler({ id: 'batch-1' });
  const job = makeJob('many', {}, { count: MANY }, 10);
  await world.submit(job);
  await world.until(() => host.running.length === MANY, 'the job');
  hush();
  await world.submit(job, 1, 'stop');
  await world.until(() => stops.length > 0, 'the first orders');
  store.cutOff();
  await world.until(() => scheduler.status().jobsOwned === 0, 'the end of the session');
  const sent = stops.length;
  expect(sent).toBeLessThan(MANY);
  await world.clock.advance(LONG_MS);
  expect(stops.length).toBe(sent);
});

it('I17 a start that is given up is not stopped for a job that is another scheduler’s by then', async () => {
  const host = await world.host('h1', 64_000);
  // Told to start again with another ticket, or not at all: it may have been a copy.
  host.behaviour = () => ({ refuse: 'bad-request' });
  hush();
  const { scheduler } = await world.scheduler({ id: 'batch-1' });
  await world.submit(makeJob('taken', {}, { count: MANY }, 10));
  await world.until(() => stops.length > 0, 'the first orders');
  const key = keys.owner('default', 'taken');
  await world.store.attempt({ compares: [], writes: [{ kind: 'delete', key }], readBack: [] });
  await world.put(key, JSON.stringify({ v: 1, scheduler: 'batch-9', kind: 'batch', sinceMs: 1 }));
  await world.until(() => scheduler.status().jobsOwned === 0, 'the loss');
  const sent = stops.length;
  expect(sent).toBeLessThan(MANY);
  await world.clock.advance(LONG_MS);
  expect(stops.length).toBe(sent);
});

it('S4.29 a start goes elsewhere when its host takes no connection twice, each time for as long as that may take', async () => {
  await world.host('h1');
  await world.scheduler({ id: 'batch-1' });
  let tries = 0;
  world.fate = async (call) => {
    if (call.method !== 'PUT' || tries === 2) return 'pass';
    tries += 1;
    await sleep(world.clock, CONNECT_MS);
    return 'refuse';
  };
  await world.submit(makeJob('web'));
  await world.until(() => tries === 1, 'the first order');
  const other = await world.host('h2');
  await world.clock.advance(3 * CONNECT_MS);
  expect(other.running).toHaveLength(1);
});
