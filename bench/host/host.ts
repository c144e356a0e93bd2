/**
 * What one host carries: starts a second through its agent's API, how long each blocks the agent, what a shim of an idle
 * task holds, how soon a new agent has taken all tasks over, and what it costs that tasks have users and views of their own.
 * `host-process.ts` starts and kills the agent, `host-worker.ts` is its process, `host-orders.ts` makes the start orders, and
 * `bare-puts.ts` sends them to a server that does nothing else, `bare-server.ts`. With `--kills` the bench runs `soak/` too: an
 * agent that is killed again and again.
 *
 * `npm run bench -- host [--starts 1000] [--flight 16] [--running 500] [--rounds 3] [--kills 50] [--agents 1] [--seed 1]`
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { HostClient } from '../../src/clients/host-client.ts';
import type { StopRequest } from '../../src/wire/api/host-api.ts';
import type { AgentProcess } from './host-process.ts';
import type { WorkerUsage } from './host-worker.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import { BareServer } from './bare-puts.ts';
import { startOf } from './host-orders.ts';
import { BUILT, startAgentProcess } from './host-process.ts';
import { percentile } from '../testbed/percentile.ts';
import { soak } from './soak/soak.ts';
import { flagsOf } from '../testbed/flags.ts';

const { starts, flight, running, rounds, ...soakFlags } = flagsOf({
  ...{ starts: 1_000, flight: 16, running: 500, rounds: 3 },
  ...{ kills: 50, agents: 1, seed: 1 },
});

/** Each listing of a thousand allocations keeps the agent busy, too. */
const POLL_MS = 100;

const STOP: StopRequest = {
  commandId: 'stop',
  epoch: { incarnation: 'bench', counter: 0 },
  mode: 'stop',
  cause: 'the bench is over',
};

async function inFlight(
  ids: readonly string[],
  flight: number,
  work: (id: string) => Promise<void>,
): Promise<void> {
  const waiting = [...ids];
  const worker = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) await work(id);
  };
  await Promise.all(Array.from({ length: flight }, worker));
}

async function begin(client: HostClient, agent: AgentProcess, id: string, command: string[]): Promise<void> {
  const outcome = await client.start(agent.address, startOf(id, command));
  if (outcome.kind !== 'started') throw new Error(`${id} was not started: ${JSON.stringify(outcome)}`);
}

async function untilAll(
  client: HostClient,
  agent: AgentProcess,
  count: number,
  state: string,
): Promise<void> {
  for (;;) {
    const { allocations } = await client.list(agent.address);
    const there = allocations.filter((one) => one.state === state);
    if (there.length >= count) return;
    await rest();
  }
}

/** Of the same orders, to a server that does nothing with them. */
async function measureBare(http: HttpClient): Promise<number> {
  const bare = new BareServer();
  await bare.start();
  try {
    const ids = Array.from({ length: starts }, (_, n) => `b${String(n)}`);
    await inFlight(['warm1', 'warm2'], 1, (id) => bare.put(http, id));
    const startMs = performance.now();
    await inFlight(ids, flight, (id) => bare.put(http, id));
    return (1_000 * starts) / (performance.now() - startMs);
  } finally {
    await bare.end();
  }
}

async function measureStarts(client: HostClient, agent: AgentProcess, http: HttpClient): Promise<void> {
  const ids = Array.from({ length: starts }, (_, n) => `s${String(n)}`);
  await inFlight(['warm1', 'warm2'], 1, (id) => begin(client, agent, id, ['true']));
  const before = await agent.usage();
  const answersMs: number[] = [];
  const startMs = performance.now();
  await inFlight(ids, flight, async (id) => {
    const askedMs = performance.now();
    await begin(client, agent, id, ['true']);
    answersMs.push(performance.now() - askedMs);
  });
  const acceptedS = (performance.now() - startMs) / 1000;
  await untilAll(client, agent, starts + 2, 'complete');
  const endedS = (performance.now() - startMs) / 1000;
  const after = await agent.usage();
  const barePerSecond = await measureBare(http);
  print(
    `host starts accepted=${(starts / acceptedS).toFixed(0)}/s ran-to-end=${(starts / endedS).toFixed(0)}/s ` +
      `bare-put=${barePerSecond.toFixed(0)}/s ratio-to-bare=${(starts / acceptedS / barePerSecond).toFixed(3)} ` +
      `answer-p50=${percentile(answersMs, 0.5).toFixed(1)}ms p99=${percentile(answersMs, 0.99).toFixed(1)}ms ` +
      `tasks=${String(starts)} in-flight=${String(flight)}`,
  );
  sayBlocked('start-to-release', starts, before, after);
  await inFlight([...ids, 'warm1', 'warm2'], flight, async (id) => {
    while ((await client.remove(agent.address, id, `remove-${id}`)).kind !== 'removed') await rest();
  });
}

/**
 * What each task keeps the agent's event loop from all else: in all, of that on the processor, and the longest that it
 * stood still at once.
 */
function sayBlocked(what: string, tasks: number, before: WorkerUsage, after: WorkerUsage): void {
  const each = (of: 'busyMs' | 'loopCpuMs' | 'cpuMs'): string =>
    ((after[of] - before[of]) / tasks).toFixed(2);
  print(
    `host blocked ${what} busy=${each('busyMs')}ms on-processor=${each('loopCpuMs')}ms ` +
      `all-threads=${each('cpuMs')}ms stood-still-p99=${after.delayP99Ms.toFixed(1)}ms ` +
      `max=${after.delayMaxMs.toFixed(1)}ms tasks=${String(tasks)}`,
  );
}

function rest(): Promise<void> {
  return new Promise((next) => setTimeout(next, POLL_MS));
}

function shimPids(folder: string): number[] {
  return readdirSync(join(folder, 'attempts')).map(
    (name) =>
      (JSON.parse(readFileSync(join(folder, 'attempts', name, 'claim'), 'utf8')) as { pid: number }).pid,
  );
}

function pssKib(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${String(pid)}/smaps_rollup`, 'utf8'))?.[1]);
}

async function measureRunning(
  client: HostClient,
  first: AgentProcess,
  folder: string,
): Promise<AgentProcess> {
  const ids = Array.from({ length: running }, (_, n) => `r${String(n)}`);
  const before = await first.usage();
  await inFlight(ids, flight, (id) => begin(client, first, id, ['sleep', '10000']));
  await untilAll(client, first, running, 'running');
  sayBlocked('start-to-running', running, before, await first.usage());
  const pss = shimPids(folder).map(pssKib);
  const meanKib = pss.reduce((sum, one) => sum + one, 0) / pss.length;
  print(
    `host shim pss-mean=${meanKib.toFixed(0)}KiB pss-max=${String(Math.max(...pss))}KiB tasks=${String(running)}`,
  );
  await first.end('SIGKILL');
  const startMs = performance.now();
  const agent = await startAgentProcess(folder);
  await untilAll(client, agent, running, 'running');
  const wholeMs = performance.now() - startMs;
  print(
    `host readopt from-open=${agent.openMs.toFixed(0)}ms from-process=${agent.readyMs.toFixed(0)}ms ` +
      `all-reported=${wholeMs.toFixed(0)}ms tasks=${String(running)}`,
  );
  await inFlight(ids, flight, async (id) => {
    await client.stop(agent.address, id, STOP);
  });
  await untilAll(client, agent, running, 'killed');
  return agent;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const http = undiciClient();
  const client = new HostClient(http);
  let agent = await startAgentProcess(folder);
  try {
    await measureStarts(client, agent, http);
    agent = await measureRunning(client, agent, folder);
  } finally {
    await agent.end('SIGTERM');
    await http.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/**
 * What it costs that tasks are strangers: the same starts on two agents in turns, of which one gives its tasks neither a user
 * nor a view of their own. Needs root, or both do the same.
 */
async function measureStrangers(): Promise<void> {
  const http = undiciClient();
  const client = new HostClient(http);
  const each = Math.ceil(starts / rounds);
  const folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'moorage-bench-')));
  const plain = { ...BUILT, more: { settings: { shim: '/nonexistent' } } };
  const agents = [
    await startAgentProcess(folders[0] ?? ''),
    await startAgentProcess(folders[1] ?? '', plain),
  ];
  const spentMs = [0, 0];
  try {
    for (let round = 0; round < rounds; round++)
      for (const [at, agent] of agents.entries()) {
        const ids = Array.from({ length: each }, (_, n) => `r${String(round)}s${String(n)}`);
        const sinceMs = performance.now();
        await inFlight(ids, flight, (id) => begin(client, agent, id, ['true']));
        await untilAll(client, agent, each, 'complete');
        spentMs[at] = (spentMs[at] ?? 0) + performance.now() - sinceMs;
        await inFlight(ids, flight, async (id) => {
          while ((await client.remove(agent.address, id, `remove-${id}`)).kind !== 'removed') await rest();
        });
      }
  } finally {
    for (const agent of agents) await agent.end('SIGTERM');
    await http.close();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
  const [strangers = 0, asAgent = 0] = spentMs.map((ms) => (1000 * each * rounds) / ms);
  print(
    `host strangers ran-to-end=${strangers.toFixed(0)}/s as-agent=${asAgent.toFixed(0)}/s ` +
      `ratio=${(strangers / asAgent).toFixed(2)} tasks=${String(each * rounds)} rounds=${String(rounds)}`,
  );
}

if (starts > 0) await measure();
if (starts > 0 && rounds > 0) await measureStrangers();
if (soakFlags.kills > 0) {
  const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);
  if (!(await soak({ ...soakFlags, print, onProgress }))) process.exitCode = 1;
}
