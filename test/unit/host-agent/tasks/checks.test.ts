import { describe, expect, it } from 'vitest';
import type { Check, CheckProbe, RestartPolicy } from '../../../../src/core/cell/job.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import type { ProbeAnswer } from '../../../../src/ports/probes.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { someStart, someTask } from '../../../support/host-orders.ts';
import { workFolder } from '../../../../src/wire/host-files/host-files.ts';

const HTTP: CheckProbe = { kind: 'http', port: 'http', path: '/readyz' };
const RESTART_ONCE: RestartPolicy = { attempts: 1, windowMs: 60_000, delayMs: 100, on: 'failure' };

/** A host on which a test says how services answer. */
class CheckedWorld extends HostWorld {
  readonly asked: string[] = [];
  passes = true;
  /** Tries under way, and the most at one time. */
  underWay = 0;
  most = 0;
  answerAfterMs = 0;

  override probes = {
    http: ({ address, port }: { address: string; port: number }, path: string) =>
      this.#answer(`http ${address}:${String(port)}${path}`),
    tcp: ({ address, port }: { address: string; port: number }) =>
      this.#answer(`tcp ${address}:${String(port)}`),
  };

  async #answer(what: string): Promise<ProbeAnswer> {
    this.asked.push(what);
    this.most = Math.max(this.most, (this.underWay += 1));
    if (this.answerAfterMs > 0)
      await new Promise<void>((resolve) => this.clock.after(this.answerAfterMs, resolve));
    this.underWay -= 1;
    return { passed: this.passes, detail: this.passes ? 'HTTP 200' : 'HTTP 503' };
  }
}

function someCheck(changes: Partial<Check> = {}): Check {
  return {
    ...{ probe: HTTP, purpose: 'ready', intervalMs: 1_000, timeoutMs: 500 },
    ...{ successThreshold: 1, failureThreshold: 2, startPeriodMs: 0 },
    ...changes,
  };
}

async function start(world: HostWorld, check: Check, more: object = {}): Promise<string> {
  const order = someStart({
    tasks: [someTask({ checks: { web: check }, ...more })],
    restart: RESTART_ONCE,
    allocation: { ports: { http: 20_001 } },
  });
  await world.agent.start(order);
  return order.allocation.id;
}

const readyOf = ({ tasks }: AllocationReport): boolean | undefined => tasks['main']?.ready;
const checkOf = ({ tasks }: AllocationReport) => tasks['main']?.checks?.['web'];

describe('health checks of a task', () => {
  it('it runs and is not ready until its check passes, and is not ready again when that fails', async () => {
    const world = new CheckedWorld();
    await world.open();
    world.passes = false;
    const id = await start(world, someCheck());
    const failing = await world.until(id, (report) => checkOf(report)?.state === 'failing');
    expect(failing).toMatchObject({ state: 'running', restarts: 0 });
    expect(checkOf(failing)?.detail).toBe('HTTP 503');
    expect(readyOf(failing)).toBe(false);
    world.passes = true;
    await world.until(id, (report) => readyOf(report) === true);
    world.passes = false;
    const again = await world.until(id, (report) => readyOf(report) === false);
    expect(again).toMatchObject({ state: 'running', restarts: 0 });
    expect(new Set(world.asked)).toEqual(new Set(['http 127.0.0.1:20001/readyz']));
  });

  it('one failure below the threshold changes nothing', async () => {
    const world = new CheckedWorld();
    await world.open();
    const id = await start(world, someCheck({ failureThreshold: 3 }));
    await world.until(id, (report) => readyOf(report) === true);
    const seen = world.asked.length;
    world.passes = false;
    await world.until(id, () => world.asked.length === seen + 2);
    world.passes = true;
    await world.until(id, () => world.asked.length === seen + 5);
    expect(checkOf(world.agent.report(id))?.state).toBe('passing');
  });

  it('a check for alive that fails ends the task as failed: restarted by its policy, then failed for good', async () => {
    const world = new CheckedWorld();
    await world.open();
    const id = await start(world, someCheck({ purpose: 'alive', startPeriodMs: 3_000 }));
    await world.until(id, (report) => readyOf(report) === true);
    world.passes = false;
    const restarted = await world.until(id, (report) => report.restarts === 1);
    const last = restarted.tasks['main']?.exit ?? restarted.tasks['main']?.lastExit;
    expect(last).toMatchObject({ unhealthy: 'check web: HTTP 503' });
    const ended = await world.until(id, (report) => report.released);
    expect(ended.state).toBe('failed');
    expect(ended.reason).toContain('task main was not alive: check web: HTTP 503 (restarted 1 of 1 times)');
  });

  it('a task that ends with 0 when it is told to for its health has failed all the same', async () => {
    const world = new CheckedWorld();
    await world.open();
    const ignores = { env: { HOLLOW_IGNORES_SIGNALS: '1' } };
    const id = await start(world, someCheck({ purpose: 'alive' }), ignores);
    await world.until(id, (report) => readyOf(report) === true);
    world.passes = false;
    const attempt = `${id}.main.1`;
    await world.until(id, () => world.processes.signalsOf(attempt).includes('SIGTERM'));
    await world.processes.end(attempt, { code: 0 });
    const restarted = await world.until(id, (report) => report.restarts === 1);
    expect(restarted.state).toBe('running');
  });

  it('failures within the start period do not count', async () => {
    const world = new CheckedWorld();
    await world.open();
    world.passes = false;
    const id = await start(world, someCheck({ purpose: 'alive', startPeriodMs: 20_000 }));
    await world.until(id, () => world.asked.length > 10);
    expect(world.agent.report(id)).toMatchObject({ state: 'running', restarts: 0 });
    expect(readyOf(world.agent.report(id))).toBe(false);
  });

  it('an agent that is started again knows what was found, and goes on checking', async () => {
    const world = new CheckedWorld();
    await world.open();
    const id = await start(world, someCheck());
    await world.until(id, (report) => readyOf(report) === true);
    await world.loseAgent();
    const before = world.asked.length;
    await world.clock.advance(5_000);
    expect(world.asked.length - before).toBeLessThanOrEqual(1);
    await world.open();
    expect(readyOf(world.agent.report(id))).toBe(true);
    world.passes = false;
    await world.until(id, (report) => readyOf(report) === false);
  });

  it('the task’s own word is a file, and that of the attempt before does not count', async () => {
    const world = new CheckedWorld();
    await world.open();
    const id = await start(world, someCheck({ probe: { kind: 'file', file: 'ready' } }));
    const path = `${workFolder(id)}/ready`;
    await world.until(id, (report) => checkOf(report)?.state === 'failing');
    await world.disk.publish(path, '');
    await world.until(id, (report) => readyOf(report) === true);
    await world.processes.end(`${id}.main.1`, { code: 1 });
    const again = await world.until(
      id,
      ({ restarts, tasks }) => restarts === 1 && tasks['main']?.ready !== undefined,
    );
    expect(readyOf(again)).toBe(false);
    expect(await world.disk.sizeOf(path)).toBeNull();
  });

  it('a command runs in the task; one that never ends is killed, and nothing of it is kept', async () => {
    const world = new CheckedWorld();
    await world.open();
    const hangs: CheckProbe = { kind: 'command', command: ['hangs', '${port.http}'] };
    const id = await start(world, someCheck({ probe: hangs }));
    const failing = await world.until(id, (report) => checkOf(report)?.state === 'failing');
    expect(checkOf(failing)?.detail).toBe('did not end within 500 ms');
    const left = (await world.disk.list(`attempts/${id}.main.1/exec`)).length;
    expect(left).toBeLessThanOrEqual(1);
    const commands = (): readonly string[] => world.processes.running.filter((one) => one.includes('/exec/'));
    await world.until(id, () => commands().length > 0);
    await world.processes.end(commands()[0] ?? '', { code: 0 });
    await world.until(id, (report) => readyOf(report) === true);
  });

  it('at most sixteen tries are under way on a host at one time', async () => {
    const world = new CheckedWorld();
    await world.open({ verifier: null, digest: (text) => text }, {});
    world.answerAfterMs = 400;
    const checks = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`c${String(i)}`, someCheck()]));
    const order = someStart({ tasks: [someTask({ checks })], allocation: { ports: { http: 20_001 } } });
    await world.agent.start(order);
    await world.until(order.allocation.id, ({ tasks }) => tasks['main']?.ready === true);
    expect(world.most).toBe(16);
  });
});
