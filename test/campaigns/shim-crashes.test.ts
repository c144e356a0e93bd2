import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readBootId } from '../../src/adapters/processes/proc-files.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { StartRequest } from '../../src/wire/api/host-api.ts';
import { specFile } from '../../src/wire/host-files/host-files.ts';
import { attemptFile, encodeLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { untilClean } from '../support/crash-matrix/remains.ts';
import { linesOf } from '../support/crash-matrix/tasks.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';
import {
  openFolder,
  shimAndClient,
  startAgentChild,
  stateFolder,
  untilReport,
} from '../support/real-host.ts';
import { killSpawner } from '../support/spawners.ts';

const { tools, shim: compiled, client } = shimAndClient();
const shim = compiled ?? '';
const TIMEOUT_MS = 600_000;
const AT_ONCE = 4;
const ROUNDS = { rounds: { leaksMs: 200 } };

/** A task that says when it ran, and whose end nobody can guess. */
function witnessed(folder: string, name: string): { readonly order: StartRequest; readonly witness: string } {
  const witness = join(folder, `witness-${name}`);
  const command = ['sh', '-c', 'echo run >> "$WITNESS"; echo said; sleep 0.02; exit 7'];
  // So small that all fit at once: one whose spawner was killed keeps its room for some seconds.
  const resources = { cpuMilli: 10, memoryMib: 1, diskMib: 0, scalars: {} };
  const tasks = [someTask({ command, env: { WITNESS: witness }, resources, limits: { memoryMib: 64 } })];
  return { witness, order: someStart({ allocation: { resources }, tasks }) };
}

describeNeeding(
  firstMissing(shim === '' ? 'there is no C compiler' : null, program('strace'), root()),
  'F1 S2.13 a shim that dies',
  () => {
    it(
      'I13 I21 I23 at any of its system calls: its task runs at most once, and its end is exact or known to be lost',
      async () => {
        using folder = stateFolder();
        using own = openFolder();
        const whole = witnessed(own.path, 'whole').order;
        const calls = callsOf(prepare(folder.path, whole), folder.path);
        expect(calls.length).toBeGreaterThan(50);
        const cases = calls.map((call) => ({
          call,
          ...witnessed(own.path, `${call.name}-${String(call.nth)}`),
        }));
        await inTurns(cases, async ({ call, order }) => {
          await killedAt(call, folder.path, prepare(folder.path, order));
        });
        const agent = await startAgentChild(folder.path, shim, ROUNDS);
        const ends = { exact: 0, lost: 0 };
        for (const { call, order, witness } of cases) {
          const report = await untilReport(client, agent.address, order.allocation.id, (one) => one.released);
          const ran = linesOf(witness).length;
          const said = `${call.name} ${String(call.nth)}: ${JSON.stringify(report)}, ran ${String(ran)} times`;
          expect(rightEnd(report, ran), said).toBe(true);
          if (report.exit?.code === 7) ends.exact += 1;
          else ends.lost += 1;
          await client.remove(agent.address, order.allocation.id, 'remove');
        }
        process.stdout.write(
          `shim crashes: ${String(cases.length)} system calls, ${String(ends.exact)} ends exact, ${String(ends.lost)} lost\n`,
        );
        // Before the claim and after the end everything is exact; in between the end is lost.
        expect(ends.exact).toBeGreaterThan(0);
        expect(ends.lost).toBeGreaterThan(0);
        await client.remove(agent.address, whole.allocation.id, 'remove');
        const left = await untilClean(folder.path, (one) => /host-worker|--spawner/.test(one));
        expect(left).toEqual([]);
        await agent.end('SIGTERM');
        expect(await untilClean(folder.path, () => false)).toEqual([]);
      },
      TIMEOUT_MS,
    );

    it(
      'I13 or a spawner, while it is asked for shims: every task runs, and none twice',
      async () => {
        using folder = stateFolder();
        using own = openFolder();
        const agent = await startAgentChild(folder.path, shim, ROUNDS);
        const works = Array.from({ length: 40 }, (_, n) => witnessed(own.path, String(n)));
        for (const [n, { order }] of works.entries()) {
          expect(await client.start(agent.address, order)).toMatchObject({ kind: 'started' });
          if (n % 4 === 0) killSpawner(folder.path, agent.pid);
        }
        for (const { order, witness } of works) {
          const { id } = order.allocation;
          const report = await untilReport(client, agent.address, id, (one) => one.released);
          expect(report).toMatchObject({ state: 'failed', exit: { code: 7 } });
          expect(linesOf(witness)).toEqual(['run']);
          await client.remove(agent.address, id, 'remove');
        }
        const left = await untilClean(folder.path, (one) => /host-worker|--spawner/.test(one));
        expect(left).toEqual([]);
        await agent.end('SIGTERM');
        expect(await untilClean(folder.path, () => false)).toEqual([]);
      },
      TIMEOUT_MS,
    );
  },
);

function rightEnd({ state, exit }: AllocationReport, ran: number): boolean {
  if (exit?.code === 7) return state === 'failed' && ran === 1;
  return state === 'lost' && exit?.lost === 'shim-died' && ran <= 1;
}

/** What an agent has written when it asks for a shim. @returns the attempt */
function prepare(folder: string, { allocation, launch, commandId }: StartRequest): string {
  const attempt = `${allocation.id}.main.1`;
  const bootId = readBootId();
  const work = join(folder, 'allocations', allocation.id, 'work');
  const task = launch.tasks['main'];
  if (task === undefined) throw new Error('the order has no task main');
  const accepted = {
    allocation,
    launch,
    commandId,
    requestDigest: 'by hand',
    bootId,
    acceptedAtMs: Date.now(),
  };
  const spec = {
    allocation: allocation.id,
    task: 'main',
    number: 1,
    bootId,
    outBase: 0,
    errBase: 0,
    atMs: 0,
  };
  const order = {
    ...{ cwd: work, outBase: 0, errBase: 0, segmentBytes: 1 << 20, segmentsMax: 4, command: task.command },
    env: { ...task.env, PATH: process.env['PATH'] ?? '', MOORAGE_ATTEMPT: attempt },
  };
  write(join(folder, 'allocations', allocation.id, 'spec.json'), specFile.encode(accepted));
  mkdirSync(work);
  write(join(folder, 'attempts', attempt, 'spec.json'), attemptFile.encode({ ...spec, restartsAtMs: [] }));
  write(join(folder, 'attempts', attempt, 'launch'), encodeLaunch(order));
  mkdirSync(join(folder, 'events'), { recursive: true });
  return attempt;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

interface Call {
  readonly name: string;
  /** Which of its name. */
  readonly nth: number;
}

/** Every system call of a shim that is left alone, in order. */
function callsOf(attempt: string, folder: string): readonly Call[] {
  const log = join(tools.path, 'calls');
  spawnSync('strace', ['-o', log, shim, '--run', folder, attempt]);
  const times = new Map<string, number>();
  return readFileSync(log, 'utf8')
    .split('\n')
    .flatMap((line) => /^(\w+)\(/.exec(line)?.[1] ?? [])
    .filter((name) => !NOT_KILLED_AT.has(name))
    .map((name) => {
      const nth = (times.get(name) ?? 0) + 1;
      times.set(name, nth);
      return { name, nth };
    });
}

/** Before the shim's own code begins, and after it has ended. */
const NOT_KILLED_AT = new Set(['execve', 'exit_group', 'exit']);

function killedAt({ name, nth }: Call, folder: string, attempt: string): Promise<void> {
  const inject = `inject=${name}:signal=SIGKILL:when=${String(nth)}`;
  const args = ['-o', '/dev/null', '-e', inject, shim, '--run', folder, attempt];
  return new Promise((resolve) => execFile('strace', args, () => resolve()));
}

async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const open = [...all];
  const go = async (): Promise<void> => {
    for (let next = open.shift(); next !== undefined; next = open.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, go));
}
