import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Check, CheckProbe } from '../../src/core/cell/job.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import type { AgentChild, TestFolder } from '../support/real-host.ts';
import { shimAndClient, startAgentChild, stateFolder, untilReport } from '../support/real-host.ts';

const { shim, client } = shimAndClient();

/** Serves 503 until a SIGUSR2, 200 until the next one, and so on; and says in a file that it serves. */
const SERVER = `
let status = 503;
process.on('SIGUSR2', () => (status = status === 200 ? 503 : 200));
require('http').createServer((_, answer) => { answer.statusCode = status; answer.end('x'.repeat(1e6)); })
  .listen(Number(process.env.MOORAGE_PORT_HTTP), '127.0.0.1', () => require('fs').writeFileSync('serves', ''));
`;
const PORT = 20_417;

function check(probe: CheckProbe, changes: Partial<Check> = {}): Check {
  return {
    ...{ probe, purpose: 'ready', intervalMs: 150, timeoutMs: 10_000 },
    ...{ successThreshold: 1, failureThreshold: 1, startPeriodMs: 0 },
    ...changes,
  };
}

const CHECKS = {
  http: check({ kind: 'http', port: 'http', path: '/readyz' }),
  tcp: check({ kind: 'tcp', port: 'http' }),
  word: check({ kind: 'file', file: 'serves' }),
  // It sees what the task sees, as its user: the file is in its working folder.
  inside: check({
    kind: 'command',
    command: ['sh', '-c', 'test -O serves && test $MOORAGE_PORT_HTTP = ${port.http}'],
  }),
};

const stateOf = (report: AllocationReport, name: string) => report.tasks['main']?.checks?.[name];

describe.skipIf(shim === null)('health checks of a real task', () => {
  let folder: TestFolder;
  let agent: AgentChild;
  beforeAll(async () => {
    folder = stateFolder();
    agent = await startAgentChild(folder.path, shim ?? '', { stopTasksOnExit: true });
  });
  afterAll(async () => {
    await agent.end('SIGTERM');
    folder[Symbol.dispose]();
  });
  const until = (id: string, test: (report: AllocationReport) => boolean) =>
    untilReport(client, agent.address, id, test);
  const toggle = (id: string, commandId: string) =>
    client.signal(agent.address, id, { commandId, signal: 'SIGUSR2' });

  it('HTTP, TCP, a file and a command; a new agent goes on checking; a dead one is restarted', async () => {
    const task = someTask({ command: [process.execPath, '-e', SERVER], checks: CHECKS });
    const order = someStart({ tasks: [task], allocation: { ports: { http: PORT } } });
    const { id } = order.allocation;
    expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
    const serving = await until(
      id,
      (report) =>
        stateOf(report, 'http')?.state === 'failing' &&
        ['tcp', 'word', 'inside'].every((name) => stateOf(report, name)?.state === 'passing'),
    );
    expect(serving.tasks['main']?.ready).toBe(false);
    await toggle(id, 'one');
    await until(id, ({ tasks }) => tasks['main']?.ready === true);

    await agent.end('SIGKILL');
    agent = await startAgentChild(folder.path, shim ?? '', { stopTasksOnExit: true });
    const adopted = await until(id, ({ tasks }) => tasks['main'] !== undefined);
    expect(adopted).toMatchObject({ state: 'running', restarts: 0 });
    expect(adopted.tasks['main']?.ready).toBe(true);
    await toggle(id, 'two');
    const failing = await until(id, ({ tasks }) => tasks['main']?.ready === false);
    expect(stateOf(failing, 'http')).toMatchObject({ state: 'failing', detail: 'HTTP 503' });
    await client.stop(agent.address, id, {
      ...{ commandId: 'stop', epoch: order.allocation.epoch, mode: 'stop' as const, cause: 'enough' },
    });
    await until(id, ({ released }) => released);
  });

  it('a command that never ends and writes without end is killed and says so; for alive, the task with it', async () => {
    const hangs = check(
      { kind: 'command', command: ['sh', '-c', 'yes | head -c 20000000; sleep 1000'] },
      { purpose: 'alive', timeoutMs: 400, failureThreshold: 2 },
    );
    const stop = { signal: 'SIGTERM', graceMs: 300 };
    const task = someTask({
      command: ['sh', '-c', "trap 'exit 0' TERM; while :; do sleep 0.05; done"],
      stop,
      checks: { hangs },
    });
    const order = someStart({ tasks: [task] });
    const { id } = order.allocation;
    expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
    const ended = await until(id, ({ released }) => released);
    expect(ended.state).toBe('failed');
    expect(ended.reason).toBe(
      'task main was not alive: check hangs: did not end within 400 ms (never restarted)',
    );
    expect(ended.exit).toMatchObject({ code: 0, unhealthy: 'check hangs: did not end within 400 ms' });
  });
});
