import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HttpStream } from '../../../../src/ports/http.ts';
import type { RunAnswer } from '../../../../src/wire/api/monitor-api.ts';
import { until } from '../../../support/manual-clock.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';
import { reportOf } from '../../../support/reporting-host.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

function open(url: string, signal?: AbortSignal): Promise<HttpStream> {
  const more = signal === undefined ? {} : { signal };
  return world.http.stream({ method: 'GET', url, timeoutMs: 60_000, idleTimeoutMs: 60_000, ...more });
}

/** Collects a stream's text as it comes. */
function collect(stream: HttpStream) {
  const state = { text: '', ended: false, error: null as unknown };
  const done = (async () => {
    try {
      for await (const chunk of stream.chunks) state.text += Buffer.from(chunk).toString();
      state.ended = true;
    } catch (error) {
      state.error = error;
    }
  })();
  return { state, done };
}

async function running() {
  const host = await world.host('h1');
  const { monitor, address } = await world.monitor();
  const run = await world.call(
    'POST',
    `${address}/v1/runs`,
    { name: 'hello', type: 'batch', command: ['x'] },
    { 'idempotency-key': 'k' },
  );
  const { job } = run.body as RunAnswer;
  const of = { job, group: job };
  const start = async () => {
    await world.place(allocationOf('h1', 'a1', of));
    host.change(reportOf('h1', 'a1', of));
    await until(() => monitor.state.follower.view.allocation('a1') !== undefined);
  };
  const finish = () => {
    host.change(reportOf('h1', 'a1', { ...of, state: 'complete', exit: { code: 0 }, released: true }));
    host.endLog('a1');
  };
  return { host, monitor, address, job, of, start, finish, url: `${address}/v1/jobs/default/${job}/logs` };
}

/** One whose output is followed, and has begun. */
async function followed() {
  const run = await running();
  await run.start();
  const reading = collect(await open(`${run.url}?follow=true`));
  run.host.write('a1', 'x');
  await until(() => reading.state.text === 'x');
  return { ...run, ...reading };
}

describe('log relay', () => {
  it('waits for the start, follows, and ends with the allocation', async () => {
    const { host, start, finish, url } = await running();
    const opening = open(`${url}?follow=true`);
    await start();
    const stream = await opening;
    expect(stream.headers).toMatchObject({ 'x-offset': '0', 'x-allocation': 'a1' });
    const { state, done } = collect(stream);
    host.write('a1', 'one ');
    await until(() => state.text === 'one ');
    host.write('a1', 'two');
    await until(() => state.text === 'one two');
    finish();
    await done;
    expect(state).toMatchObject({ text: 'one two', ended: true });
  });

  it('I28 resumes from the offset when the stream from the host is cut: no gap, no repeat', async () => {
    const { host, start, finish, url } = await running();
    await start();
    const { state, done } = collect(await open(`${url}?follow=true`));
    host.write('a1', 'before ');
    await until(() => state.text === 'before ');
    world.network.cut(host.address);
    host.write('a1', 'after');
    await world.clock.advance(1_000);
    await until(() => state.text === 'before after');
    finish();
    await done;
    expect(state.ended).toBe(true);
  });

  it('S2.7 a client resumes at another monitor from its last offset', async () => {
    const { host, start, finish, url, job } = await running();
    const second = await world.monitor('m2');
    await start();
    const leave = new AbortController();
    const first = collect(await open(`${url}?follow=true`, leave.signal));
    host.write('a1', '0123456789');
    await until(() => first.state.text.length === 10);
    leave.abort();
    await until(() => second.monitor.state.follower.view.allocation('a1') !== undefined);
    const other = await open(`${second.address}/v1/jobs/default/${job}/logs?follow=true&offset=10`);
    const { state, done } = collect(other);
    host.write('a1', 'abc');
    finish();
    await done;
    expect(state).toMatchObject({ text: 'abc', ended: true });
  });

  it('I28 ends with the output, as its host says; the end of the allocation may be told later', async () => {
    const { host, state, done } = await followed();
    host.endLog('a1');
    // No time goes by.
    await done;
    expect(state).toMatchObject({ text: 'x', ended: true });
  });

  it('I28 is cut where the monitor stops: an end in order would say that this is all', async () => {
    const { monitor, state, done } = await followed();
    await Promise.all([monitor.close(), world.clock.advance(5_000)]);
    await done;
    expect(state).toMatchObject({ text: 'x', ended: false });
    expect(state.error).not.toBeNull();
  });

  it('reads the output of a released allocation while its host has the record, then says 410', async () => {
    const { host, monitor, start, finish, url, of } = await running();
    await start();
    host.write('a1', 'bye');
    finish();
    await world.end(allocationOf('h1', 'a1', of));
    await until(() => monitor.state.copy.outcomes.size === 1);
    const { state, done } = collect(await open(url));
    await done;
    expect(state.text).toBe('bye');
    host.gone('a1');
    expect(await world.call('GET', url)).toMatchObject({ status: 410, body: { code: 'log-gone' } });
  });

  it('without follow says that it has not started; with follow asks to be asked again', async () => {
    const { url } = await running();
    expect(await world.call('GET', url)).toMatchObject({ status: 404, body: { code: 'not-started' } });
    const waiting = open(`${url}?follow=true`);
    await world.clock.advance(30_000);
    expect((await waiting).status).toBe(204);
  });

  it('ends at once when the job ended without ever starting', async () => {
    const { url, job } = await running();
    const opening = open(`${url}?follow=true`);
    await world.end(allocationOf('', 'x1', { job, group: job }), { state: 'failed', cause: 'unplaceable' });
    const { state, done } = collect(await opening);
    await done;
    expect(state).toMatchObject({ text: '', ended: true });
  });

  it('an unreachable host is 503, not an empty log', async () => {
    const { host, start, url } = await running();
    await start();
    await host.close();
    expect(await world.call('GET', url)).toMatchObject({ status: 503, body: { code: 'host-unreachable' } });
  });

  it('I28 an offset counts the bytes of one allocation: another one of the slot is read from its beginning', async () => {
    const { host, start, url, of } = await running();
    await start();
    host.write('a1', '0123456789');
    await world.place(allocationOf('h1', 'a2', { ...of, attempt: 2 }));
    host.change(reportOf('h1', 'a2', of));
    host.write('a2', 'another one');
    const read = async (query: string) => {
      let stream = await open(`${url}?${query}`);
      // Until this monitor knows of it, too.
      while (!query.includes('allocation=a1') && stream.headers['x-allocation'] !== 'a2') {
        await world.clock.advance(50);
        stream = await open(`${url}?${query}`);
      }
      const { state, done } = collect(stream);
      await done;
      return [stream.headers['x-offset'], state.text];
    };
    expect(await read('offset=8&offsetOf=a1')).toEqual(['0', 'another one']);
    expect(await read('offset=8&offsetOf=a2')).toEqual(['8', 'one']);
    expect(await read('offset=8')).toEqual(['8', 'one']);
    expect(await read('offset=8&allocation=a1&offsetOf=a2')).toEqual(['0', '0123456789']);
  });
});
