import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningAgent } from '../../host-agent/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { runHollow } from '../../host-agent/hollow-main.ts';
import { MemoryCell } from '../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import type { ShimProgram } from '../../src/adapters/processes/processes.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { ObservedState } from '../../src/core/host/states.ts';
import { OBSERVED_RANK } from '../../src/core/host/states.ts';
import type { HostReport } from '../../src/core/host/report.ts';
import { hostCodec } from '../../src/wire/records/records.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { ndjson } from '../../src/core/json/ndjson.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import type { TestFolder } from '../support/real-host.ts';
import { PLAIN_SHIM, readAll, shimAndClient, stateFolder, untilReport } from '../support/real-host.ts';

const { shim: compiled, client } = shimAndClient();
const keys = cellKeys('test');
const cell = new MemoryCell({ clock: systemClock });

interface HostOptions {
  readonly id?: string;
  readonly shim?: ShimProgram;
}

function startAgent(folder: TestFolder, options: HostOptions = {}): Promise<RunningAgent> {
  return runAgent({
    cell: 'test',
    etcd: [],
    id: options.id ?? 'host-a',
    version: 'test',
    listen: { host: '127.0.0.1', port: 0 },
    log: silentLog,
    stateFolder: folder.path,
    requireTickets: false,
    stopTasksOnExit: true,
    aliveTtlMs: 60_000,
    portRange: { first: 1_024, last: 65_535 },
    store: new MemoryCellStore({ clock: systemClock, cell }),
    ...(options.shim === undefined ? {} : { shim: options.shim }),
    settings: { logBounds: { segmentBytes: 1_000, segmentsMax: 4 } },
  });
}

function shell(script: string) {
  return someTask({ command: ['sh', '-c', script], stop: { signal: 'SIGTERM', graceMs: 300 } });
}

const shims: readonly (readonly [string, ShimProgram | null])[] = [
  ['the compiled shim', compiled === null ? null : { kind: 'native', path: compiled }],
  ['the shim in TypeScript', PLAIN_SHIM],
];

describe.each(shims)('a host with %s', (_name, shim) => {
  let folder: TestFolder;
  let agent: RunningAgent;

  beforeAll(async () => {
    if (shim === null) return;
    folder = stateFolder();
    agent = await startAgent(folder, { shim });
  });
  afterAll(async () => {
    if (shim === null) return;
    await agent.stop();
    folder[Symbol.dispose]();
  });

  const run = async (order: ReturnType<typeof someStart>) => {
    const { id } = order.allocation;
    expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
    return untilReport(client, agent.address, id, (report) => report.released);
  };
  const output = async (id: string, stream: 'stdout' | 'stderr' = 'stdout', offset = 0) => {
    const log = await client.logs(agent.address, id, { task: 'main', stream, offset, follow: true });
    return { offset: log.offset, text: (await readAll(log.chunks)).toString() };
  };

  it.skipIf(shim === null)(
    'I23 the end is exactly what the task made of it: a code, or a signal',
    async () => {
      const coded = await run(someStart({ tasks: [shell('exit 137')] }));
      expect(coded).toMatchObject({ state: 'failed', exit: { code: 137 } });
      const signalled = await run(someStart({ tasks: [shell('kill -KILL $$')] }));
      expect(signalled).toMatchObject({ state: 'failed', exit: { signal: 'SIGKILL' } });
      expect(await run(someStart())).toMatchObject({ state: 'complete', exit: { code: 0 } });
    },
  );

  it.skipIf(shim === null)('an unknown command fails the allocation, and the reason names it', async () => {
    const report = await run(someStart({ tasks: [someTask({ command: ['no-such-thing-here', '-v'] })] }));
    expect(report.state).toBe('failed');
    expect(report.reason).toBe('task main: cannot run "no-such-thing-here": not found');
    expect(report.tasks['main']?.exit).toEqual({ lost: 'not-run' });
  });

  it.skipIf(shim === null)('a task knows where it is, what it is, and its ports', async () => {
    const script =
      'echo "$MOORAGE_ALLOC_ID $MOORAGE_JOB $MOORAGE_HOST $ALLOC_INDEX $MOORAGE_PORT_HTTP $URL $1 ${HOME:+home}"';
    const task = { ...shell(script), env: { URL: 'http://${host.id}:${port.http}' } };
    const order = someStart({
      allocation: { index: 3, ports: { http: 20_123 } },
      tasks: [{ ...task, command: [...task.command, 'sh', '${alloc.id}'] }],
    });
    const { id } = order.allocation;
    await run(order);
    expect((await output(id)).text).toBe(`${id} web host-a 3 20123 http://host-a:20123 ${id} home\n`);
  });

  it.skipIf(shim === null)('S3.7 output is bounded, and a reader learns where it begins', async () => {
    const order = someStart({ tasks: [shell('seq 1 3000; echo complaint >&2')] });
    const { id } = order.allocation;
    await run(order);
    const whole = Array.from({ length: 3000 }, (_, i) => `${String(i + 1)}\n`).join('');
    const rest = await output(id);
    expect(rest.offset).toBeGreaterThan(0);
    expect(rest.offset % 1_000).toBe(0);
    expect(rest.text).toBe(whole.slice(rest.offset));
    expect(rest.text.length).toBeLessThanOrEqual(4_000);
    expect((await output(id, 'stdout', whole.length - 5)).text).toBe(whole.slice(-5));
    expect((await output(id, 'stderr')).text).toBe('complaint\n');
  });

  it.skipIf(shim === null)('S2.7 output goes on at the same offsets over a restart', async () => {
    const order = someStart({
      tasks: [shell('echo one more; exit 1')],
      restart: { attempts: 2, windowMs: 60_000, delayMs: 0, on: 'failure' },
    });
    const { id } = order.allocation;
    await run(order);
    expect((await output(id)).text).toBe('one more\n'.repeat(3));
  });

  it.skipIf(shim === null)(
    'I29 whoever ignores the signal, or left the group, is gone when it is released',
    async () => {
      const mark = `77${String(process.pid)}`;
      const script = `trap '' TERM; setsid sleep ${mark} & sleep ${mark} & echo up; wait; wait`;
      const order = someStart({ tasks: [shell(script)] });
      const { id } = order.allocation;
      await client.start(agent.address, order);
      const log = await client.logs(agent.address, id, {
        task: 'main',
        stream: 'stdout',
        offset: 0,
        follow: true,
      });
      for await (const chunk of log.chunks) if (Buffer.from(chunk).toString().includes('up')) break;
      await client.stop(agent.address, id, someStop());
      const ended = await untilReport(client, agent.address, id, (report) => report.released);
      expect(ended).toMatchObject({ state: 'killed', exit: { signal: 'SIGKILL' } });
      expect(await runningSleeps(mark)).toEqual([]);
    },
  );

  it.skipIf(shim === null)('a port that somebody listens at is refused', async () => {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as { port: number };
    const order = () => someStart({ allocation: { ports: { http: port } } });
    const first = order();
    const refused = { kind: 'refused', code: 'port-taken' };
    expect(await client.start(agent.address, first)).toMatchObject(refused);
    await new Promise((done) => server.close(done));
    // That was the last word about this one: its claim is given back.
    expect(await client.start(agent.address, first)).toMatchObject(refused);
    expect(await run(order())).toMatchObject({ state: 'complete' });
  });

  it.skipIf(shim === null)(
    'its stream begins with everything and then tells each change in order',
    async () => {
      const reader = undiciClient();
      const order = someStart({ tasks: [shell('exec sleep 1000')] });
      const { id } = order.allocation;
      const stop = new AbortController();
      const stream = await reader.stream({
        method: 'GET',
        url: `${agent.address}/v1/reports`,
        timeoutMs: 60_000,
        idleTimeoutMs: 60_000,
        signal: stop.signal,
      });
      const states: ObservedState[] = [];
      let seq = -1;
      for await (const value of ndjson(stream.chunks)) {
        const report = value as HostReport;
        if (seq < 0) {
          expect(report.kind).toBe('full');
          await client.start(agent.address, order);
        } else expect(report.seq).toBeGreaterThanOrEqual(seq);
        seq = report.seq;
        if (report.kind !== 'change' || report.allocation.id !== id) continue;
        const { state, released } = report.allocation;
        // Of two changes that follow each other at once only the second is told: it ends when it is seen to run.
        if (state === 'running' && !states.includes(state)) await client.stop(agent.address, id, someStop());
        states.push(state);
        if (released) break;
      }
      stop.abort();
      await reader.close();
      const ranks = states.map((state) => OBSERVED_RANK[state]);
      expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
      expect(states).toContain('running');
      expect(states.at(-1)).toBe('killed');
    },
  );
});

describe.skipIf(compiled === null)('a host in its cell', () => {
  const shim: ShimProgram = { kind: 'native', path: compiled ?? '' };

  it('registers what it is, lives under a session, and leaves its registration when it stops', async () => {
    const store = new MemoryCellStore({ clock: systemClock, cell });
    const folder = stateFolder();
    const first = await startAgent(folder, { shim, id: 'host-r' });
    const found = await store.read([keys.host('host-r'), keys.aliveOf('host-r')]);
    const record = found.entries.get(keys.host('host-r'));
    const host = hostCodec.decode(record?.value ?? '');
    expect(host).toMatchObject({ id: 'host-r', address: first.address, incarnation: first.incarnation });
    expect(host.capacity.cpuMilli).toBeGreaterThan(0);
    expect(found.entries.has(keys.aliveOf('host-r'))).toBe(true);
    await first.stop();
    const after = await store.read([keys.host('host-r'), keys.aliveOf('host-r')]);
    expect(after.entries.has(keys.aliveOf('host-r'))).toBe(false);
    const second = await startAgent(folder, { shim, id: 'host-r' });
    expect(second.incarnation).toBeGreaterThan(first.incarnation);
    await second.stop();
    await store.close();
    folder[Symbol.dispose]();
  });

  it('a second agent under the same id with another state folder is refused while the first lives', async () => {
    const [one, other] = [stateFolder(), stateFolder()];
    const first = await startAgent(one, { shim, id: 'host-t' });
    await expect(startAgent(other, { shim, id: 'host-t' })).rejects.toThrow(
      /another agent is alive as host host-t/,
    );
    await first.stop();
    const second = await startAgent(other, { shim, id: 'host-t' });
    expect(second.incarnation).toBeGreaterThan(first.incarnation);
    await second.stop();
    one[Symbol.dispose]();
    other[Symbol.dispose]();
  });

  it('hollow hosts take the same orders as real ones, each at an address of its own', async () => {
    const store = new MemoryCellStore({ clock: systemClock, cell });
    const capacity = { cpuMilli: 1_000, memoryMib: 1_024, diskMib: 0, scalars: {} };
    const hollow = await runHollow({
      cell: 'test',
      etcd: [],
      listen: { host: '127.0.0.1', port: 0 },
      log: silentLog,
      version: 'test',
      hosts: Array.from({ length: 200 }, (_, i) => ({ id: `hollow-${String(i)}`, capacity })),
      requireTickets: false,
      store: new MemoryCellStore({ clock: systemClock, cell }),
    });
    const alive = await store.list(keys.alive);
    expect([...alive.entries.keys()].filter((key) => key.includes('/hollow-'))).toHaveLength(200);
    const found = await store.read([keys.host('hollow-7')]);
    const { address } = hostCodec.decode(found.entries.get(keys.host('hollow-7'))?.value ?? '');
    const order = someStart({
      allocation: { host: 'hollow-7' },
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '20' } })],
    });
    expect(await client.start(address, order)).toMatchObject({ kind: 'started' });
    const ended = await untilReport(client, address, order.allocation.id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'complete', exit: { code: 0 } });
    const large = someStart({
      allocation: { host: 'hollow-7', resources: { cpuMilli: 2_000, memoryMib: 1, diskMib: 0, scalars: {} } },
    });
    expect(await client.start(address, large)).toMatchObject({
      kind: 'refused',
      code: 'no-fit',
      detail: 'cpu: 2000 needed, 1000 available',
    });
    await hollow.stop();
    await store.close();
  });
});

/** `sleep` processes with this argument that are no zombies. */
async function runningSleeps(mark: string): Promise<string[]> {
  const child = spawn('pgrep', ['-fa', `^sleep ${mark}$`]);
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await new Promise((done) => child.once('close', done));
  return said.split('\n').filter((line) => line !== '');
}
