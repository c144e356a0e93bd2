import { createHash } from 'node:crypto';
import { webSocketClient } from '../src/adapters/http/channel-client.ts';
import { undiciClient } from '../src/adapters/http/client.ts';
import { systemClock } from '../src/adapters/system/clock.ts';
import { systemRandom } from '../src/adapters/system/random.ts';
import { AttachSession } from '../src/clients/attach-session.ts';
import { HostClient } from '../src/clients/host-client.ts';
import { seededRandom } from '../src/core/seeded-random.ts';
import { HttpError } from '../src/ports/http.ts';
import { ProblemError } from '../src/wire/problem.ts';
import type { AttachEnd } from '../src/wire/attach-frames.ts';
import type { AgentProcess } from './host-process.ts';
import { startOf } from './host-orders.ts';

export interface KillsOptions {
  readonly kills: number;
  readonly seed: number;
  /** Starts an agent on the one folder of this run. */
  readonly start: () => Promise<AgentProcess>;
  /** Lines that the client types between two kills, at most. */
  readonly linesPerLife: number;
}

export interface KillsResult {
  readonly kills: number;
  readonly retries: number;
  readonly lines: number;
  readonly inputMatches: boolean;
  readonly outputBytes: number;
  readonly outputMatches: boolean;
  readonly signalsSent: number;
  readonly signalsReceived: number;
  readonly end: AttachEnd | null;
  /** Starts of the command, as it saw them itself. */
  readonly runs: number;
  /** Ends of short commands that were ordered, and often ordered again, while agents died. */
  readonly commands: { readonly ordered: number; readonly ranOnce: number };
}

/**
 * Reads lines and repeats them, counts its signals, and says in the end what it got. In Python: a shell loses signals that
 * come while it forks, and Node has no real-time ones. They are waited for, not handled: handlers run once for several.
 */
const ECHO = `
import hashlib, os, signal, sys, threading
wanted = {signal.SIGRTMIN + 3}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
got = []
def count():
    while True: got.append(signal.sigwait(wanted))
threading.Thread(target=count, daemon=True).start()
open(os.environ['WITNESS'], 'a').write('run\\n')
digest = hashlib.sha256()
lines = 0
out = sys.stdout.buffer
out.write(b'ready\\n'); out.flush()
for line in sys.stdin.buffer:
    digest.update(line)
    lines += 1
    out.write(b'%d ' % lines + line)
    out.flush()
while signal.sigtimedwait(wanted, 0.3): got.append(1)
print('end', lines, digest.hexdigest(), len(got), flush=True)
sys.stdout.flush()
os._exit(7)
`;

/** Agents that live for a moment each may be missed for long. */
const OUTAGE_MAX_MS = 600_000;

/** Kills the agent again and again while a task is written to, writes, and is signalled; then compares every byte. */
export async function killAgents(options: KillsOptions, folder: string): Promise<KillsResult> {
  const random = seededRandom(options.seed);
  const http = undiciClient();
  const client = new HostClient(http, { timeoutMs: 2_000 });
  const state: State = { agent: await options.start(), kills: 0, retries: 0, over: false };
  const sent = createHash('sha256');
  let lines = 0;
  const output: Uint8Array[] = [];
  const id = 'echo';
  const witness = `${folder}/witness`;
  await persist(state, () =>
    client.start(state.agent.address, startOf(id, ['python3', '-c', ECHO], { WITNESS: witness }, true)),
  );
  while ((await client.get(state.agent.address, id))?.state !== 'running') await pause(20);
  // Before it blocks the signal, one would end it.
  let ready = (): void => undefined;
  const isReady = new Promise<void>((resolve) => (ready = resolve));
  const session = new AttachSession(
    { allocation: id },
    {
      channels: webSocketClient(),
      clock: systemClock,
      random: systemRandom,
      addresses: () => [state.agent.address],
      outageMaxMs: OUTAGE_MAX_MS,
      onOutput: (stream, bytes) => {
        if (stream === 'stdout') output.push(Uint8Array.from(bytes));
        ready();
      },
    },
  );
  const stop = new AbortController();
  const running = session.run(stop.signal);
  await isReady;
  let signalsSent = 0;
  const answers: Promise<unknown>[] = [];
  const commands = { ordered: 0, ranOnce: 0 };

  const killing = (async () => {
    while (state.kills < options.kills) {
      // Every other life lasts until the session is there again: on a busy machine it would never be, otherwise.
      if (state.kills % 2 === 1) await connected(session);
      await pause(20 + 300 * random.fraction());
      await state.agent.end('SIGKILL');
      state.kills += 1;
      state.agent = await options.start();
    }
    state.over = true;
  })();
  const typing = (async () => {
    while (!state.over) {
      // Each life is to see some of them, and all of them are held until the end.
      if (lines >= (state.kills + 1) * options.linesPerLife) {
        await pause(5);
        continue;
      }
      lines += 1;
      const line = Buffer.from(`${String(lines)} ${'x'.repeat(Math.floor(random.fraction() * 60))}\n`);
      sent.update(line);
      await session.write(line);
      if (lines % 50 === 0) await pause(1);
    }
  })();
  const signalling = (async () => {
    while (!state.over) {
      signalsSent += 1;
      const order = { commandId: `sig-${String(signalsSent)}`, signal: 'SIGRTMIN+3' };
      answers.push(session.signal(order));
      // Said twice, over two ways: it is the same signal.
      if (random.fraction() < 0.3)
        answers.push(persist(state, () => client.signal(state.agent.address, id, order)));
      await pause(30 + 60 * random.fraction());
    }
  })();
  const ordering = (async () => {
    while (!state.over) {
      commands.ordered += 1;
      const commandId = `c${String(commands.ordered)}`;
      const log = `${folder}/command-${commandId}`;
      const request = { commandId, command: ['sh', '-c', `echo run >> '${log}'`] };
      await persist(state, () => client.exec(state.agent.address, id, request));
      await persist(state, () => client.exec(state.agent.address, id, request));
      for (;;) {
        const status = await persist(state, () => client.command(state.agent.address, id, commandId));
        if (status.state === 'ended') break;
        await pause(20);
      }
      if ((await readText(log)) === 'run\n') commands.ranOnce += 1;
      await pause(100);
    }
  })();
  await Promise.all([killing, typing, signalling, ordering]);
  await Promise.all(answers);
  session.endInput();
  const end = await running;
  stop.abort();
  const text = Buffer.concat(output).toString();
  const said = /end (\d+) ([0-9a-f]{64}) (\d+)\n$/.exec(text);
  const result: KillsResult = {
    ...{ kills: state.kills, retries: state.retries, lines, end, signalsSent, commands },
    inputMatches: Number(said?.[1]) === lines && said?.[2] === sent.digest('hex'),
    outputBytes: Buffer.byteLength(text),
    outputMatches: isEveryLine(text, lines),
    signalsReceived: Number(said?.[3] ?? -1),
    runs: ((await readText(witness)) ?? '').split('\n').length - 1,
  };
  await client.remove(state.agent.address, id, 'remove');
  await state.agent.end('SIGTERM');
  await http.close();
  return result;
}

interface State {
  agent: AgentProcess;
  kills: number;
  retries: number;
  over: boolean;
}

/** As any client of a host does: the same order, until there is an answer. */
async function persist<T>(state: State, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      const answer = await call();
      if (!isUnknown(answer)) return answer;
    } catch (error) {
      const passes =
        error instanceof ProblemError && (error.problem.status >= 500 || error.problem.status === 408);
      if (!(error instanceof HttpError) && !passes) throw error;
    }
    state.retries += 1;
    await pause(20);
  }
}

/** Resolves when the session talks to another agent than now, or after a while. */
async function connected(session: AttachSession): Promise<void> {
  const before = session.state;
  for (let tries = 0; tries < CONNECTED_TRIES && session.state === before; tries++) await pause(20);
}

const CONNECTED_TRIES = 250;

function isUnknown(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === 'unknown';
}

/** Line n begins with n twice: its number as it was typed, and as it was read. */
function isEveryLine(text: string, lines: number): boolean {
  const all = text.split('\n').slice(1, -2);
  return (
    all.length === lines && all.every((line, n) => line.startsWith(`${String(n + 1)} ${String(n + 1)} `))
  );
}

async function readText(path: string): Promise<string | null> {
  const { readFile } = await import('node:fs/promises');
  return readFile(path, 'utf8').catch(() => null);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
