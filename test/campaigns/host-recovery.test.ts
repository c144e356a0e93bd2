import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseStat } from '../../src/adapters/processes/proc-files.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { describeNeeding } from '../support/needs.ts';
import type { AgentChild, TestFolder } from '../support/real-host.ts';
import {
  openFolder,
  readAll,
  shimAndClient,
  startAgentChild,
  stateFolder,
  untilReport,
} from '../support/real-host.ts';

const { shim, client } = shimAndClient();

/** What names a process for ever within a boot. */
function identityOf(pid: number): string {
  return `${String(pid)}@${String(parseStat(readFileSync(`/proc/${String(pid)}/stat`, 'utf8')).start)}`;
}

/** Gone, or a zombie that nobody has buried yet. */
function hasEnded(pid: number): boolean {
  try {
    return parseStat(readFileSync(`/proc/${String(pid)}/stat`, 'utf8')).state === 'Z';
  } catch {
    return true;
  }
}

function shell(script: string) {
  return someTask({ command: ['sh', '-c', script], stop: { signal: 'SIGTERM', graceMs: 500 } });
}

describeNeeding(shim === null ? 'there is no C compiler' : null, 'losing the agent', () => {
  let folder: TestFolder;
  let agent: AgentChild;

  const again = async (): Promise<void> => {
    agent = await startAgentChild(folder.path, shim ?? '');
  };
  beforeAll(async () => {
    folder = stateFolder();
    await again();
  });
  afterAll(async () => {
    await agent.end('SIGTERM');
    folder[Symbol.dispose]();
  });

  it('I26 I27 kill -9 of the agent changes no process, and the next agent takes all of them over', async () => {
    const orders = Array.from({ length: 5 }, () => someStart({ tasks: [shell('exec sleep 1000')] }));
    const before = new Map<string, string>();
    for (const order of orders) {
      const { id } = order.allocation;
      expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
      const report = await untilReport(
        client,
        agent.address,
        id,
        (one) => one.tasks['main']?.pid !== undefined,
      );
      before.set(id, identityOf(report.tasks['main']?.pid ?? 0));
    }
    const { incarnation } = agent;
    await agent.end('SIGKILL');
    await again();
    expect(agent.incarnation).toBeGreaterThan(incarnation);
    for (const [id, identity] of before) {
      const report = await client.get(agent.address, id);
      expect(report?.state).toBe('running');
      expect(identityOf(report?.tasks['main']?.pid ?? 0)).toBe(identity);
      expect(await client.stop(agent.address, id, someStop())).toMatchObject({ kind: 'stopping' });
      const ended = await untilReport(client, agent.address, id, (one) => one.released);
      expect(ended).toMatchObject({ state: 'killed', exit: { signal: 'SIGTERM' } });
      expect(await client.remove(agent.address, id, 'remove-1')).toEqual({ kind: 'removed' });
    }
    expect((await client.list(agent.address)).allocations).toEqual([]);
  });

  it('S2.15 S2.18 I27 an end that happened while there was no agent is found, with its exit code and its output', async () => {
    using open = openFolder();
    const go = join(open.path, 'go');
    const order = someStart({
      tasks: [shell(`echo before; while [ ! -e '${go}' ]; do sleep 0.02; done; echo after; exit 7`)],
    });
    const { id } = order.allocation;
    await client.start(agent.address, order);
    await untilReport(client, agent.address, id, (one) => one.state === 'running');
    await agent.end('SIGKILL');
    writeFileSync(go, '');
    await exitFileOf(folder, `${id}.main.1`);
    await again();
    const report = await client.get(agent.address, id);
    expect(report).toMatchObject({ state: 'failed', exit: { code: 7 } });
    const log = await client.logs(agent.address, id, {
      task: 'main',
      stream: 'stdout',
      offset: 0,
      follow: true,
    });
    expect((await readAll(log.chunks)).toString()).toBe('before\nafter\n');
  });

  it('I28 output read by offset over several kills of the agent is what the task wrote, byte for byte', async () => {
    const lines = 40_000;
    const expected = createHash('sha256');
    for (let i = 1; i <= lines; i++) expected.update(`${String(i)}\n`);
    const order = someStart({
      tasks: [shell(`i=0; for n in $(seq 1 8); do seq $((i+1)) $((i+5000)); i=$((i+5000)); sleep 0.2; done`)],
    });
    const { id } = order.allocation;
    await client.start(agent.address, order);
    const found = createHash('sha256');
    let offset = 0;
    let kills = 0;
    for (;;) {
      try {
        const log = await client.logs(agent.address, id, {
          task: 'main',
          stream: 'stdout',
          offset,
          follow: true,
        });
        expect(log.offset).toBe(offset);
        for await (const chunk of log.chunks) {
          found.update(chunk);
          offset += chunk.length;
          if (kills < 3 && offset > (kills + 1) * 40_000) {
            kills += 1;
            await agent.end('SIGKILL');
            await again();
          }
        }
        break;
      } catch (error) {
        // The agent that served this stream is gone; the next one goes on where we are.
        if (!(error instanceof Error) || error.name !== 'HttpError') throw error;
      }
    }
    expect(kills).toBe(3);
    expect(found.digest('hex')).toBe(expected.digest('hex'));
  });

  it('I34 S2.8 a repeated start returns the saved answer, also from the next agent, and runs nothing again', async () => {
    using open = openFolder();
    const witness = join(open.path, 'witness');
    const order = someStart({ tasks: [shell(`echo run >> '${witness}'`)] });
    const { id } = order.allocation;
    await client.start(agent.address, order);
    await untilReport(client, agent.address, id, (one) => one.released);
    await agent.end('SIGKILL');
    await again();
    expect(await client.start(agent.address, order)).toMatchObject({
      kind: 'started',
      report: { state: 'complete' },
    });
    await client.remove(agent.address, id, 'remove-1');
    expect(await client.start(agent.address, order)).toMatchObject({ kind: 'refused', code: 'stopped' });
    await agent.end('SIGKILL');
    await again();
    expect(await client.start(agent.address, order)).toMatchObject({ kind: 'refused', code: 'stopped' });
    expect(readFileSync(witness, 'utf8')).toBe('run\n');
  });

  it('I30 a claim whose number now belongs to another process is not taken for the shim, and that process lives', async () => {
    const order = someStart({ tasks: [shell('exec sleep 1000')] });
    const { id } = order.allocation;
    await client.start(agent.address, order);
    const started = await untilReport(
      client,
      agent.address,
      id,
      (one) => one.tasks['main']?.pid !== undefined,
    );
    await agent.end('SIGKILL');
    const claim = join(folder.path, 'attempts', `${id}.main.1`, 'claim');
    const real = JSON.parse(readFileSync(claim, 'utf8')) as { boot: string; pid: number };
    process.kill(real.pid, 'SIGKILL');
    // This very process stands in for the stranger that got the number.
    writeFileSync(claim, JSON.stringify({ v: 1, boot: real.boot, pid: process.pid, start: 1 }));
    await again();
    const ended = await untilReport(client, agent.address, id, (one) => one.released);
    expect(ended).toMatchObject({ state: 'lost', exit: { lost: 'shim-died' } });
    expect(hasEnded(started.tasks['main']?.pid ?? 0)).toBe(true);
  });

  it('I31 S2.17 a record that cannot be read is put away; its task lives, and a repeated start takes it over', async () => {
    const [order, other] = [
      someStart({ tasks: [shell('exec sleep 1000')] }),
      someStart({ tasks: [shell('exec sleep 1000')] }),
    ];
    const pids = new Map<string, number>();
    for (const { allocation } of [order, other]) {
      await client.start(agent.address, allocation.id === order.allocation.id ? order : other);
      const report = await untilReport(
        client,
        agent.address,
        allocation.id,
        (one) => one.tasks['main']?.pid !== undefined,
      );
      pids.set(allocation.id, report.tasks['main']?.pid ?? 0);
    }
    await agent.end('SIGKILL');
    const spec = join(folder.path, 'allocations', order.allocation.id, 'spec.json');
    writeFileSync(spec, readFileSync(spec, 'utf8').slice(0, 100));
    await again();
    expect(await client.get(agent.address, order.allocation.id)).toBeNull();
    expect(await client.get(agent.address, other.allocation.id)).toMatchObject({ state: 'running' });
    const taken = await client.start(agent.address, order);
    expect(taken).toMatchObject({ kind: 'started', report: { state: 'running' } });
    for (const { allocation } of [order, other]) {
      const report = await client.get(agent.address, allocation.id);
      expect(report?.tasks['main']?.pid).toBe(pids.get(allocation.id));
      await client.stop(agent.address, allocation.id, someStop());
      await untilReport(client, agent.address, allocation.id, (one) => one.released);
    }
  });

  it('S2.19 a second agent on the same state folder is refused, and says why', async () => {
    await expect(startAgentChild(folder.path, shim ?? '')).rejects.toThrow(
      /another agent runs on the state folder/,
    );
  });

  it('S4.35 SIGTERM of the agent leaves tasks running', async () => {
    const order = someStart({ tasks: [shell('exec sleep 1000')] });
    const { id } = order.allocation;
    await client.start(agent.address, order);
    const report = await untilReport(
      client,
      agent.address,
      id,
      (one) => one.tasks['main']?.pid !== undefined,
    );
    await agent.end('SIGTERM');
    expect(identityOf(report.tasks['main']?.pid ?? 0)).toBeTruthy();
    await again();
    await client.stop(agent.address, id, someStop());
    await untilReport(client, agent.address, id, (one) => one.released);
  });
});

async function exitFileOf(folder: TestFolder, attempt: string): Promise<void> {
  for (;;) {
    try {
      readFileSync(join(folder.path, 'attempts', attempt, 'exit'));
      return;
    } catch {
      await new Promise((next) => setTimeout(next, 20));
    }
  }
}
