import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EVENT_QUEUE_MAX, EventLog, EVENTS_MAX } from '../../../../monitor/events/events.ts';
import { EventCursor } from '../../../../src/clients/event-cursor.ts';
import { MonitorClient } from '../../../../src/clients/monitor-client.ts';
import { ndjson } from '../../../../src/core/json/ndjson.ts';
import type { CellEvent } from '../../../../src/wire/api/monitor-api.ts';
import type { SchedulerEvent } from '../../../../src/wire/api/scheduler-api.ts';
import { roleCodec } from '../../../../src/wire/records/records.ts';
import { ManualClock, until } from '../../../support/manual-clock.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';
import { reportOf } from '../../../support/reporting-host.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

async function held(address: string, since = '0'): Promise<CellEvent[]> {
  const url = `${address}/v1/events?follow=false&since=${since}`;
  const stream = await world.http.stream({ method: 'GET', url, timeoutMs: 1_000, idleTimeoutMs: 1_000 });
  const events: CellEvent[] = [];
  for await (const value of ndjson(stream.chunks)) events.push(value as CellEvent);
  return events;
}

describe('events', () => {
  it('tells what the store, the hosts and the schedulers did, each once and in order', async () => {
    const host = await world.host('h1');
    const { monitor, address } = await world.monitor();
    await until(() => monitor.state.follower.view.complete && host.readers === 1);
    await world.call('POST', `${address}/v1/jobs`, { name: 'web', type: 'service', command: ['x'] });
    const allocation = allocationOf('h1', 'a1');
    await world.place(allocation);
    await until(() => monitor.state.copy.allocations.size === 1);
    host.change(reportOf('h1', 'a1'));
    await until(() => monitor.state.follower.view.size === 1);
    host.change(reportOf('h1', 'a1', { state: 'complete', reason: 'exit 0' }));
    await until(() => monitor.state.follower.view.allocation('a1')?.state === 'complete');
    await world.end(allocation);
    await until(() => monitor.state.copy.outcomes.size === 1);
    const events = (await held(address)).filter((event) => event.job === 'web');
    expect(events.map((event) => event.kind)).toEqual([
      ...['job-submitted', 'placed', 'running', 'complete', 'released', 'ended'],
    ]);
    expect(events[1]).toMatchObject({ slot: 'web[0]', host: 'h1', source: 's1', allocation: 'a1' });
    expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
    expect(await held(address, events[3]?.id).then((after) => after.map((event) => event.id))).toEqual(
      (await held(address)).slice(-2).map((event) => event.id),
    );
  });

  it('the same change has the same id at every monitor', async () => {
    const [one, two] = [await world.monitor('m1'), await world.monitor('m2')];
    await world.host('h1');
    await world.place(allocationOf('h1', 'a1'));
    for (const { monitor } of [one, two]) await until(() => monitor.state.copy.allocations.size === 1);
    const idOf = async (address: string) =>
      (await held(address)).find((event) => event.kind === 'placed')?.id;
    expect(await idOf(one.address)).toBe(await idOf(two.address));
  });

  it('I52 what only a new listing shows has an id of the monitor, not a place among the changes', async () => {
    const store = world.newStore();
    const { monitor, address } = await world.monitor('m1', { store });
    store.cutOff();
    await world.place(allocationOf('h1', 'a1'));
    await world.end(allocationOf('h1', 'a1'));
    store.reconnect();
    await until(() => monitor.state.copy.outcomes.size === 1);
    await world.place(allocationOf('h1', 'a2'));
    await until(() => monitor.state.copy.allocations.size === 1);
    const revision = world.cell.revision;
    const [gap, ended, placed] = (await held(address)).slice(-3);
    expect(gap?.kind).toBe('gap');
    expect(ended).toMatchObject({ kind: 'ended', id: expect.stringMatching(/^m1:\d+\.\d+$/) as string });
    expect(placed).toMatchObject({ kind: 'placed', id: `${String(revision)}.1` });
  });

  it('I52 says with a stream where it begins, and a follower can resume from there', async () => {
    const { monitor, address } = await world.monitor();
    const client = new MonitorClient(world.http, { urls: [address], from: 'a test' });
    const cursor = new EventCursor('now');
    const leave = new AbortController();
    const onBegin = (place: string): void => {
      cursor.began(place);
      leave.abort();
    };
    const call = { follow: true, signal: leave.signal, onBegin };
    const first = client.events(cursor.since, call).next();
    await first.catch(() => undefined);
    expect(cursor.since).toBe(String(monitor.state.copy.revision));
    await world.place(allocationOf('h1', 'a1'));
    await until(() => monitor.state.copy.allocations.size === 1);
    const missed: string[] = [];
    for await (const { kind } of client.events(cursor.since, { follow: false })) missed.push(kind);
    expect(missed).toEqual(['placed']);
  });

  it('hands on what schedulers alone know, once though they repeat it', async () => {
    const conflict: SchedulerEvent = {
      ...{ life: 1, seq: 7, atMs: 1, scheduler: 's1', kind: 'conflict', namespace: 'default', job: 'web' },
      detail: 'lost h1 to s2: cpu needed 2500, available 1000',
    };
    const { monitor, address } = await world.monitor();
    let asked = 0;
    const events = {
      method: 'GET',
      path: '/v1/events',
      right: 'read',
      handle: async () => {
        asked += 1;
        // Then it has been started anew, and counts from the beginning.
        if (asked > 2) return { status: 200, stream: lines({ ...conflict, life: 2, seq: 1 }) };
        return { status: 200, stream: lines(conflict, { ...conflict, seq: 8, kind: 'placed' }) };
      },
    } as const;
    const peer = await world.network
      .server()
      .listen([events], { host: '127.0.0.1', port: 0, bodyBytesMax: 1 });
    const role = {
      kind: 'scheduler',
      id: 's1',
      address: peer.address,
      version: '0',
      policy: 'service',
      startedAtMs: 0,
    } as const;
    await world.write([
      { kind: 'put', key: world.keys.role('scheduler', 's1'), value: roleCodec.encode(role) },
    ]);
    await until(() => asked === 1);
    await world.clock.advance(10_000);
    await until(() => asked > 1);
    await world.clock.advance(10_000);
    await until(() => asked > 2);
    const calls = (await held(address)).filter((event) => event.id.startsWith('s1:'));
    expect(calls.map((event) => [event.id, event.kind])).toEqual([
      ['s1:1.7', 'conflict'],
      ['s1:2.1', 'conflict'],
    ]);
    expect(monitor.state.events.readers).toBe(0);
  });

  it('speaks SSE to those who ask for it', async () => {
    const { monitor, address } = await world.monitor();
    await world.call('POST', `${address}/v1/jobs`, { name: 'web', type: 'service', command: ['x'] });
    await until(() => monitor.state.copy.jobs.size === 1);
    const url = `${address}/v1/events?follow=false`;
    const headers = { accept: 'text/event-stream', 'last-event-id': '0' };
    const stream = await world.http.stream({
      method: 'GET',
      url,
      headers,
      timeoutMs: 1_000,
      idleTimeoutMs: 1_000,
    });
    let text = '';
    for await (const chunk of stream.chunks) text += Buffer.from(chunk).toString();
    expect(text).toMatch(/^id: \d+\.\d+\nevent: job-submitted\ndata: \{.*\}\n\n/m);
  });
});

async function* lines(...values: readonly unknown[]): AsyncGenerator<string> {
  for (const value of values) yield `${JSON.stringify(value)}\n`;
}

describe('EventLog', () => {
  const event = (n: number): CellEvent => ({
    id: `${String(n)}.0`,
    atMs: n,
    kind: 'placed',
    source: 's',
    detail: '',
  });

  async function read(log: EventLog, since: string): Promise<(string | undefined)[]> {
    const seen: (string | undefined)[] = [];
    for await (const item of log.read(since, false, new AbortController().signal))
      seen.push(item?.kind === 'gap' ? 'gap' : item?.id);
    return seen;
  }

  it('is exclusive, and says when older events are no longer held', async () => {
    const log = new EventLog('m1', new ManualClock(), () => 13);
    log.missed(10, 'start', true);
    for (let n = 11; n <= 13; n++) log.add(event(n));
    expect(await read(log, '12.0')).toEqual(['13.0']);
    expect(await read(log, '13.0')).toEqual([]);
    expect(await read(log, '9.0')).toEqual(['gap', '11.0', '12.0', '13.0']);
    expect(await read(log, '11.5')).toEqual(['12.0', '13.0']);
    expect(await read(log, 'elsewhere:3')).toEqual(['gap', '11.0', '12.0', '13.0']);
    for (let n = 14; n < 14 + 2 * EVENTS_MAX; n++) log.add(event(n));
    const all = await read(log, '13.0');
    expect(all[0]).toBe('gap');
    expect(all.length).toBeLessThanOrEqual(EVENTS_MAX + 1);
    log.close();
  });

  it('I52 an id at or below what it missed is not taken for the one that a listing happens to show', async () => {
    const log = new EventLog('m2', new ManualClock(), () => 480);
    log.missed(470, 'start', true);
    log.missed(480, 'the watch broke', false);
    // As a listing numbers them: elsewhere 480.0 and 480.1 are other changes of the same revision.
    for (const ordinal of [0, 1]) log.add({ ...event(480), id: `480.${String(ordinal)}` });
    for (const since of ['475.0', '480.0', '480.1', '480.7'])
      expect(await read(log, since)).toEqual(['gap', 'gap', '480.0', '480.1']);
    // A follower that knows all of the revision has missed nothing.
    expect(await read(log, '480')).toEqual([]);
    expect(await read(log, '481')).toEqual(['gap']);
    log.close();
  });

  it('I52 what it missed stays missed when it forgets events that are older still', async () => {
    const log = new EventLog('m2', new ManualClock(), () => 480);
    log.missed(1, 'start', true);
    for (let n = 2; n <= 400; n++) log.add(event(n));
    log.missed(480, 'the watch broke', true);
    for (let n = 0; n < 2 * EVENTS_MAX; n++) log.add({ ...event(0), id: `batch-1:1.${String(n)}` });
    log.add(event(481));
    expect((await read(log, '470.0'))[0]).toBe('gap');
    log.close();
  });

  it('I52 resumes after an id that is older than what new readers get, with nothing left out', async () => {
    const log = new EventLog('m1', new ManualClock(), () => 2 * EVENTS_MAX);
    log.missed(1, 'start', true);
    for (let n = 2; n < EVENTS_MAX + 1_000; n++) log.add(event(n));
    expect((await read(log, '10.0'))[0]).toBe('11.0');
    expect((await read(log, '10.5'))[0]).toBe('11.0');
    log.close();
  });

  it('I52 a reader from before the first snapshot gets a gap', async () => {
    const log = new EventLog('m1', new ManualClock(), () => 0);
    const leave = new AbortController();
    const stream = log.read('now', true, leave.signal)[Symbol.asyncIterator]();
    log.missed(480, 'start', true);
    expect((await stream.next()).value).toMatchObject({ kind: 'gap' });
    leave.abort();
    log.close();
  });

  it('I52 a stream holds what comes after it was asked for, however late it is read', async () => {
    const log = new EventLog('m1', new ManualClock(), () => 1);
    const leave = new AbortController();
    const stream = log.read('now', true, leave.signal);
    log.add(event(2));
    expect((await stream[Symbol.asyncIterator]().next()).value).toMatchObject({ id: '2.0' });
    leave.abort();
    log.close();
  });

  it('S2.5 S3.22 I58 a reader that is too slow gets the number of each kind, not unbounded memory', async () => {
    const log = new EventLog('m1', new ManualClock(), () => 0);
    const leave = new AbortController();
    const mine = ({ namespace }: CellEvent): boolean => namespace !== 'others';
    const reader = log.read('now', true, leave.signal, mine)[Symbol.asyncIterator]();
    const next = async (): Promise<CellEvent> => (await reader.next()).value as CellEvent;
    const first = next();
    log.add(event(1));
    expect(await first).toMatchObject({ id: '1.0' });
    const late = EVENT_QUEUE_MAX + 1;
    for (let n = 2; n <= late; n++) log.add(event(n));
    for (const kind of ['placed', 'placed', 'failed']) log.add({ ...event(late + 1), kind });
    log.add({ ...event(late + 1), kind: 'conflict', namespace: 'others' });
    for (let n = 2; n <= late; n++) expect(await next()).toMatchObject({ id: `${String(n)}.0` });
    expect(await next()).toMatchObject({
      ...{ kind: 'gap', missed: { placed: 2, failed: 1 } },
      detail: 'this reader was too slow; left out: 2 placed, 1 failed',
    });
    const after = next();
    log.add(event(late + 2));
    expect(await after).toMatchObject({ id: `${String(late + 2)}.0` });
    leave.abort();
    log.close();
  });

  it('S3.22 who misses only what he may not see is told of nothing', async () => {
    const log = new EventLog('m1', new ManualClock(), () => 0);
    const leave = new AbortController();
    const reader = log.read('now', true, leave.signal, ({ namespace }) => namespace !== 'others');
    for (let n = 1; n < EVENT_QUEUE_MAX + 10; n++) log.add({ ...event(n), namespace: 'others' });
    const next = reader[Symbol.asyncIterator]().next();
    expect((await next).value).toBeNull();
    leave.abort();
    log.close();
  });
});
