import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseStat } from '../../src/adapters/processes/proc-files.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { StartRequest } from '../../src/wire/api/host-api.ts';
import { claimFile } from '../../src/wire/host-files/attempt-files.ts';
import { processesOf } from '../support/crash-matrix/remains.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { describeNeeding } from '../support/needs.ts';
import { readAll, shimAndClient, startAgentChild, stateFolder, untilReport } from '../support/real-host.ts';
import { killSpawner } from '../support/spawners.ts';

const { shim, client } = shimAndClient();

/** Its output goes through its shim, without which it would end at its next word. */
const TALKER = someTask({
  command: ['sh', '-c', 'n=0; while :; do n=$((n+1)); echo $n; sleep 0.02; done'],
  stop: { signal: 'SIGTERM', graceMs: 500 },
});

const talker = (): StartRequest => someStart({ tasks: [TALKER] });
const runs = (report: AllocationReport): boolean => report.tasks['main']?.pid !== undefined;

/** What names a process for ever within a boot. */
function identityOf(report: AllocationReport | null): string {
  const pid = String(report?.tasks['main']?.pid);
  return `${pid}@${String(parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).start)}`;
}

describeNeeding(shim === null ? 'there is no C compiler' : null, 'S2.22 what one crash takes with it', () => {
  it('I26 a shim its own task, the spawner and the agent none; the rest are the same processes and lose no word', async () => {
    using folder = stateFolder();
    let agent = await startAgentChild(folder.path, shim ?? '');
    const [victim, ...others] = [talker(), talker(), talker()] as const;
    const before = new Map<string, string>();
    for (const order of [victim, ...others]) {
      const { id } = order.allocation;
      expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
      before.set(id, identityOf(await untilReport(client, agent.address, id, runs)));
    }
    /** The others go on: the same processes, and what they say has no gap. */
    const goOn = async (): Promise<void> => {
      for (const { allocation } of others) {
        const { id } = allocation;
        expect(identityOf(await untilReport(client, agent.address, id, runs))).toBe(before.get(id));
        const said = await wordsOf(agent.address, id);
        let now = said;
        while (now.length <= said.length + 2) now = await wordsOf(agent.address, id);
        expect(now).toEqual(now.map((_, n) => String(n + 1)));
      }
    };
    /** The host takes new work. */
    const startsAnew = async (): Promise<void> => {
      const order = talker();
      const { id } = order.allocation;
      expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
      await untilReport(client, agent.address, id, runs);
      await client.stop(agent.address, id, someStop());
      await untilReport(client, agent.address, id, (one) => one.released);
    };

    const attempt = `${victim.allocation.id}.main.1`;
    const claim = claimFile.decode(readFileSync(join(folder.path, 'attempts', attempt, 'claim'), 'utf8'));
    if (!('pid' in claim)) throw new Error('a task that runs has a shim');
    process.kill(claim.pid, 'SIGKILL');
    const lost = await untilReport(client, agent.address, victim.allocation.id, (one) => one.released);
    expect(lost).toMatchObject({ state: 'lost', exit: { lost: 'shim-died' } });
    expect(processesOf(attempt)).toEqual([]);
    await goOn();
    await startsAnew();

    expect(killSpawner(folder.path, agent.pid)).toBe(1);
    await goOn();
    await startsAnew();

    await agent.end('SIGKILL');
    agent = await startAgentChild(folder.path, shim ?? '');
    await goOn();
    await startsAnew();
    expect(await client.get(agent.address, victim.allocation.id)).toEqual(lost);

    for (const { allocation } of others) {
      await client.stop(agent.address, allocation.id, someStop());
      await untilReport(client, agent.address, allocation.id, (one) => one.released);
    }
    await agent.end('SIGTERM');
  });
});

/** Whole lines only: it may be writing one. */
async function wordsOf(address: string, id: string): Promise<readonly string[]> {
  const { chunks } = await client.logs(address, id, {
    ...{ task: 'main', stream: 'stdout', offset: 0, follow: false },
  });
  return (await readAll(chunks)).toString().split('\n').slice(0, -1);
}
