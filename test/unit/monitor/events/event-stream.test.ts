import { afterEach, beforeEach, expect, test } from 'vitest';
import { fastifyServer } from '../../../../src/adapters/http/http.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { EVENT_BEAT_MS } from '../../../../monitor/events/events.ts';
import { until } from '../../../support/manual-clock.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

/** The frames of a server-sent event stream, as a browser cuts them: fields by name, comments under the empty name. */
async function* frames(response: Response): AsyncGenerator<Record<string, string>> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      yield Object.fromEntries(
        lines.map((line): [string, string] => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
        }),
      );
    }
  }
}

async function served() {
  const { monitor, address } = await world.monitor('m1', { server: fastifyServer({ log: silentLog }) });
  const submit = async (name: string): Promise<void> => {
    const body = JSON.stringify({ name, type: 'batch', command: ['x'] });
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(`${address}/v1/jobs`, { method: 'POST', headers, body })).status).toBe(201);
    await until(() => monitor.state.copy.jobs.get(`default/${name}`) !== undefined);
  };
  const leave = new AbortController();
  const open = async (after: Record<string, string>) => {
    const headers = { accept: 'text/event-stream', ...after };
    const response = await fetch(`${address}/v1/events`, { headers, signal: leave.signal });
    return { response, stream: frames(response) };
  };
  return { monitor, address, submit, open, leave };
}

test('S2.5 a real event stream: id, event and data, beats as comments, and on as things happen', async () => {
  const { monitor, submit, open, leave } = await served();
  await submit('one');
  const { response, stream } = await open({ 'last-event-id': '0' });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const seen: Record<string, string>[] = [];
  const next = async (event: string): Promise<Record<string, string>> => {
    for (;;) {
      const { value } = (await stream.next()) as { value: Record<string, string> };
      seen.push(value);
      if (value['event'] === event) return value;
    }
  };
  const first = await next('job-submitted');
  expect(first['id']).toMatch(/^\d+\.\d+$/);
  expect(JSON.parse(first['data'] ?? '')).toMatchObject({
    id: first['id'],
    kind: 'job-submitted',
    job: 'one',
  });
  await until(() => monitor.state.events.readers === 1);
  await world.clock.advance(EVENT_BEAT_MS);
  await submit('two');
  expect(JSON.parse((await next('job-submitted'))['data'] ?? '')).toMatchObject({ job: 'two' });
  expect(seen.filter((frame) => frame[''] === 'beat')).not.toEqual([]);
  for (const frame of seen.filter((one) => one[''] === undefined))
    expect(Object.keys(frame)).toEqual(['id', 'event', 'data']);

  const after = await open({ 'last-event-id': first['id'] ?? '' });
  const { value } = (await after.stream.next()) as { value: Record<string, string> };
  expect(value['id']).not.toBe(first['id']);
  expect(JSON.parse(value['data'] ?? '')).toMatchObject({ job: 'two' });
  leave.abort();
  await until(() => monitor.state.events.readers === 0);
});

test('a reader that was away for longer than events are held gets a gap first', async () => {
  const { submit, open, leave } = await served();
  await submit('one');
  const { stream } = await open({ 'last-event-id': 'elsewhere:7' });
  const { value } = (await stream.next()) as { value: Record<string, string> };
  expect(value['event']).toBe('gap');
  expect(value['id']).toMatch(/^\d+\.\d+$/);
  leave.abort();
});

test('serves the schema of job files to editors', async () => {
  const { address } = await served();
  const response = await fetch(`${address}/v1/schema/job.json`);
  expect(response.headers.get('content-type')).toMatch(/^application\/schema\+json/);
  expect(await response.json()).toMatchObject({ title: 'Moorage job', if: { required: ['groups'] } });
});
