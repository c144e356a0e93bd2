import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { webSocketClient } from '../../src/adapters/http/channel-client.ts';
import { systemClock, systemRandom } from '../../src/adapters/system/system.ts';
import { AttachSession } from '../../src/clients/attach-session.ts';
import { HttpError } from '../../src/ports/http.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { someStart, someStop, someTask } from '../support/host-orders.ts';
import { describeNeeding } from '../support/needs.ts';
import type { AgentChild, TestFolder } from '../support/real-host.ts';
import {
  openFolder,
  shimAndClient,
  startAgentChild,
  stateFolder,
  untilReport,
} from '../support/real-host.ts';

const { shim, client } = shimAndClient();
/** More than a shim takes connections. */
const SESSIONS = 100;

describeNeeding(shim === null ? 'there is no C compiler' : null, 'clients over the loss of an agent', () => {
  let folder: TestFolder;
  let agent: AgentChild;
  /** Of the allocation that the tests look into. */
  let id: string;

  const again = async (): Promise<void> => {
    agent = await startAgentChild(folder.path, shim ?? '');
  };
  const isRunning = () => untilReport(client, agent.address, id, (one) => one.state === 'running');
  const stop = async (): Promise<void> => {
    await client.stop(agent.address, id, someStop());
    await untilReport(client, agent.address, id, (one) => one.released);
  };
  /** As a client would that knows where the agent serves now. */
  const attach = (
    onOutput: (text: string) => void,
    options: { readonly outageMaxMs?: number; readonly input?: 'none' } = {},
  ): AttachSession =>
    new AttachSession(
      { allocation: id },
      {
        channels: webSocketClient(),
        ...{ clock: systemClock, random: systemRandom },
        addresses: () => [agent.address],
        onOutput: (_stream, bytes) => onOutput(Buffer.from(bytes).toString()),
        ...options,
      },
    );

  beforeAll(async () => {
    folder = stateFolder();
    await again();
  });
  beforeEach(async () => {
    const script = 'while read line; do echo "got $line"; done; echo end; exec sleep 1000';
    const order = someStart({ tasks: [someTask({ command: ['sh', '-c', script], stdin: true })] });
    id = order.allocation.id;
    expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
    await isRunning();
  });
  afterAll(async () => {
    await agent.end('SIGTERM');
    folder[Symbol.dispose]();
  });

  it('S2.1 S2.4 S2.14 a hundred wait for the next agent, and each gets all output once; what was typed meanwhile arrives', async () => {
    const seen = Array.from({ length: SESSIONS }, () => '');
    const news = new Set<() => void>();
    const sessions = seen.map((_, n) =>
      attach(
        (text) => {
          seen[n] += text;
          for (const wake of news) wake();
          // Only one may type.
        },
        n === 0 ? {} : { input: 'none' },
      ),
    );
    const all = async (text: string): Promise<void> => {
      while (seen.some((one) => !one.endsWith(text)))
        await new Promise<void>((wake) => {
          news.add(() => wake());
        });
      news.clear();
    };
    const runs = sessions.map((session) => session.run(new AbortController().signal));
    const [typist] = sessions;
    await typist?.write(Buffer.from('one\n'));
    await all('got one\n');
    await agent.end('SIGKILL');
    await typist?.write(Buffer.from('two\n'));
    await again();
    await all('got two\n');
    typist?.endInput();
    await all('end\n');
    expect(new Set(seen)).toEqual(new Set(['got one\ngot two\nend\n']));
    await stop();
    for (const end of await Promise.all(runs)) expect(end?.exit).toMatchObject({ signal: 'SIGTERM' });
  });

  it('S2.2 S2.6 S2.8 S2.9 the next agent knows the commands of the last: the same id never runs again, the same words do', async () => {
    using open = openFolder();
    const witness = join(open.path, 'witness');
    const command = ['sh', '-c', `echo ran >> '${witness}'; exit 5`];
    const ended = async (commandId: string) => {
      await client.exec(agent.address, id, { commandId, command });
      for (;;) {
        const status = await client.command(agent.address, id, commandId);
        if (status.state === 'ended') return status;
      }
    };
    const first = await ended('first');
    expect(first.exit).toMatchObject({ code: 5 });
    await agent.end('SIGKILL');
    await again();
    expect(await ended('first')).toEqual(first);
    expect(readFileSync(witness, 'utf8')).toBe('ran\n');
    expect((await ended('second')).exit).toMatchObject({ code: 5 });
    expect(readFileSync(witness, 'utf8')).toBe('ran\nran\n');
    await stop();
  });

  it('S2.11 S2.20 a refusal is told at once, and what has ended takes no orders, also from the next agent', async () => {
    await stop();
    await agent.end('SIGKILL');
    await again();
    const late = client.exec(agent.address, id, { commandId: 'late', command: ['true'] });
    await expect(late).rejects.toMatchObject({ problem: { status: 409, code: 'not-running' } });
    id = 'no-such-allocation';
    const none = attach(() => undefined).run(new AbortController().signal);
    await expect(none).rejects.toBeInstanceOf(ProblemError);
  });

  it('S2.24 who finds nobody for too long gives up, and says what was last heard', async () => {
    let ready = (): void => undefined;
    const isReady = new Promise<void>((done) => (ready = done));
    const session = attach(() => ready(), { outageMaxMs: 1_000 });
    const run = session.run(new AbortController().signal);
    const gaveUp = expect(run).rejects.toBeInstanceOf(HttpError);
    await session.write(Buffer.from('one\n'));
    await isReady;
    await agent.end('SIGKILL');
    await gaveUp;
    await expect(run).rejects.toThrow(/ECONNREFUSED/);
    await again();
    await stop();
  });
});
