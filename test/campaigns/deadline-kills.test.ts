import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exitFile, stoppingFile } from '../../src/wire/host-files/attempt-files.ts';
import { outcomeFile, stopReasonFile } from '../../src/wire/host-files/host-files.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { describeNeeding } from '../support/needs.ts';
import { readAll, shimAndClient, startAgentChild, stateFolder, untilReport } from '../support/real-host.ts';

const { shim, client } = shimAndClient();

/** In contact: its session in the store is renewed, and the shims are told, several times in each of the times below. */
const OFTEN = { aliveTtlMs: 3_000, rounds: { beatMs: 50 } };
/** Long enough that all three run, and their agent is dead, before it is over. */
const OVER_MS = 10_000;
/** A start that would be done again and again by its restart policy. */
const ALWAYS = { attempts: 100, windowMs: 60_000, delayMs: 0, on: 'always' as const };
/** Says each time that it was told to stop, and how it ends nobody can guess. */
const WITNESS = someTask({
  command: ['sh', '-c', 'trap "echo told; exit 3" TERM; echo up; while :; do sleep 0.02; done'],
});

describeNeeding(
  shim === null ? 'there is no C compiler' : null,
  'deadlines while the agent is killed',
  () => {
    it('I16 I23 I26 S2.15 the shims keep both after kill -9, and every later agent gives the same reason once', async () => {
      using folder = stateFolder();
      const contentOf = (path: string): string => readFileSync(join(folder.path, path), 'utf8');
      let agent = await startAgentChild(folder.path, shim ?? '', OFTEN);
      const orders = {
        'run-max': someStart({ tasks: [WITNESS], restart: ALWAYS, deadlineMs: OVER_MS }),
        disconnect: someStart({ tasks: [WITNESS], restart: ALWAYS, stopAfterDisconnectMs: OVER_MS }),
        none: someStart({ tasks: [WITNESS], restart: ALWAYS }),
      };
      for (const order of Object.values(orders))
        expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
      for (const { allocation } of Object.values(orders))
        await untilReport(client, agent.address, allocation.id, (one) => one.state === 'running');
      const free = orders.none.allocation.id;
      const before = await client.get(agent.address, free);
      await agent.end('SIGKILL');

      const ends = [
        { id: orders['run-max'].allocation.id, why: 'run-max', reason: 'deadline' },
        { id: orders.disconnect.allocation.id, why: 'disconnect', reason: 'disconnected' },
      ] as const;
      for (const { id, why } of ends) {
        const attempt = `attempts/${id}.main.1`;
        while (!existsSync(join(folder.path, attempt, 'exit')))
          await new Promise((again) => setTimeout(again, 20));
        expect(exitFile.decode(contentOf(`${attempt}/exit`))).toMatchObject({ code: 3, stoppedBy: why });
        expect(stoppingFile.decode(contentOf(`${attempt}/stopping`))).toMatchObject({ why });
        expect(existsSync(join(folder.path, `allocations/${id}/verdict.json`))).toBe(false);
      }

      agent = await startAgentChild(folder.path, shim ?? '', OFTEN);
      const told = new Map<string, unknown>();
      for (const { id, reason } of ends) {
        const report = await untilReport(client, agent.address, id, (one) => one.released);
        expect(report).toMatchObject({ state: 'failed', reason, restarts: 0, exit: { code: 3 } });
        told.set(id, report);
        expect(stopReasonFile.decode(contentOf(`allocations/${id}/verdict.json`)).why).toBe(reason);
        expect(outcomeFile.decode(contentOf(`allocations/${id}/outcome.json`))).toMatchObject({ reason });
        const { chunks } = await client.logs(agent.address, id, {
          ...{ task: 'main', stream: 'stdout', offset: 0, follow: false },
        });
        expect((await readAll(chunks)).toString()).toBe('up\ntold\n');
      }
      // One that has no such deadline is the same process as before.
      expect((await client.get(agent.address, free))?.tasks).toEqual(before?.tasks);
      await agent.end('SIGKILL');

      agent = await startAgentChild(folder.path, shim ?? '', OFTEN);
      for (const { id } of ends) expect(await client.get(agent.address, id)).toEqual(told.get(id));
      expect(readdirSync(join(folder.path, 'attempts')).sort()).toEqual(
        [...ends.map(({ id }) => id), free].sort().map((id) => `${id}.main.1`),
      );
      await client.stop(agent.address, free, someStop());
      await untilReport(client, agent.address, free, (one) => one.released);
      await agent.end('SIGTERM');
    });
  },
);
