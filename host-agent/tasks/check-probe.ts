import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Check, Task } from '../../src/core/cell/job.ts';
import type { ProbeAnswer } from '../../src/ports/probes.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { ExitRecord } from '../../src/wire/host-files/attempt-files.ts';
import { execName, segmentName } from '../../src/wire/host-files/attempt-files.ts';
import { workFolder } from '../../src/wire/host-files/host-files.ts';
import type { TaskPorts } from '../drivers/drivers.ts';
import { attemptFolder, readAttempt, removeAttempt } from './attempt.ts';
import { interpolate, wordsOf } from './launch.ts';

/** One attempt at a task, as its checks see it. */
export interface CheckedAttempt {
  readonly attempt: string;
  readonly allocation: Allocation;
  readonly task: Task;
  /** Lent to the allocation. */
  readonly addresses: readonly string[];
}

/** Commands of checks have ids of their own among those in a task. */
const CHECK_COMMAND = 'moorage-check-';
/** Where a task without an address of its own is asked. */
const LOOPBACK = '127.0.0.1';
/** How often a command's end is looked for: its shim's event may be late. */
const LOOK_MS = 100;
/** Its shim kills it at the time's end; then its end is waited for so long. */
const KILL_MS = 2_000;
/** Of what a command printed last. */
const OUTPUT_BYTES_MAX = 1_024;
const DETAIL_CHARS_MAX = 160;

/** One try of a check. @param number of the try, in this agent's life */
export async function tryCheck(
  ports: TaskPorts,
  checked: CheckedAttempt,
  { probe, timeoutMs }: Check,
  number: number,
): Promise<ProbeAnswer> {
  const { allocation, addresses } = checked;
  const at = (label: string) => ({ address: addresses[0] ?? LOOPBACK, port: allocation.ports[label] ?? 0 });
  switch (probe.kind) {
    case 'http':
      return (await ports.probes?.http(at(probe.port), probe.path, timeoutMs)) ?? NOBODY;
    case 'tcp':
      return (await ports.probes?.tcp(at(probe.port), timeoutMs)) ?? NOBODY;
    case 'file': {
      const passed = (await ports.disk.sizeOf(readyFile(checked, probe.file))) !== null;
      return { passed, detail: passed ? `${probe.file} is there` : `there is no file ${probe.file}` };
    }
    case 'command':
      return runCheck(ports, checked, { command: probe.command, timeoutMs, number });
  }
}

const NOBODY: ProbeAnswer = { passed: false, detail: 'this host cannot ask' };

/** What an earlier attempt said of itself says nothing of the next one. @throws DiskError */
export async function forgetReadyFiles(
  ports: TaskPorts,
  checked: Pick<CheckedAttempt, 'allocation' | 'task'>,
): Promise<void> {
  for (const { probe } of Object.values(checked.task.checks ?? {}))
    if (probe.kind === 'file') await ports.disk.remove(readyFile(checked, probe.file));
}

function readyFile({ allocation }: Pick<CheckedAttempt, 'allocation'>, file: string): string {
  return `${workFolder(allocation.id)}/${file}`;
}

/** Ends what an agent of before left of its checks in the attempt. @throws DiskError */
export async function endLeftChecks(ports: TaskPorts, attempt: string): Promise<void> {
  for (const commandId of await ports.disk.list(`${attemptFolder(attempt)}/exec`)) {
    if (!commandId.startsWith(CHECK_COMMAND)) continue;
    const name = execName(attempt, commandId);
    await ports.processes.killTree(name);
    await removeAttempt(ports.disk, name);
  }
}

interface CheckCommand {
  readonly command: readonly string[];
  readonly timeoutMs: number;
  readonly number: number;
}

/** In the task's own context. Its shim ends it when its time is over, whether there is an agent or not. */
async function runCheck(
  ports: TaskPorts,
  { attempt, allocation, addresses }: CheckedAttempt,
  { command, timeoutMs, number }: CheckCommand,
): Promise<ProbeAnswer> {
  const { clock, disk, processes } = ports;
  const words = wordsOf(allocation, addresses);
  const commandId = `${CHECK_COMMAND}${Math.round(clock.nowMs()).toString(36)}-${String(number)}`;
  const name = await processes.exec(attempt, commandId, {
    command: command.map((part) => interpolate(part, words)),
    stdin: 'closed',
    runMaxMs: timeoutMs,
    stop: { signal: 'SIGKILL', graceMs: 0 },
  });
  if (name === null) return { passed: false, detail: 'the task does not run' };
  try {
    const exit = await endOfCheck(ports, name, timeoutMs);
    if (exit === null) return { passed: false, detail: `did not end within ${String(timeoutMs)} ms` };
    return { passed: exit.code === 0, detail: await detailOf(ports, name, exit, timeoutMs) };
  } finally {
    await removeAttempt(disk, name);
  }
}

/** @returns null: its time was over, and it was killed */
async function endOfCheck(ports: TaskPorts, name: string, timeoutMs: number): Promise<ExitRecord | null> {
  const { clock, processes } = ports;
  const lateMs = clock.monotonicMs() + timeoutMs + KILL_MS;
  let changed = new AbortController();
  const unsubscribe = processes.onEvent((attempt) => {
    if (attempt === name) changed.abort();
  });
  try {
    for (;;) {
      const seen = await readAttempt(ports, name);
      if (seen.kind === 'ended') return seen.exit;
      if (clock.monotonicMs() >= lateMs) {
        await processes.killTree(name);
        return null;
      }
      await sleep(clock, LOOK_MS, changed.signal);
      if (changed.signal.aborted) changed = new AbortController();
    }
  } finally {
    unsubscribe();
  }
}

async function detailOf(
  ports: TaskPorts,
  name: string,
  exit: ExitRecord,
  timeoutMs: number,
): Promise<string> {
  if (exit.stoppedBy === 'run-max') return `did not end within ${String(timeoutMs)} ms`;
  if (exit.execErrno !== undefined) return `cannot be run: error ${String(exit.execErrno)}`;
  const how =
    exit.code === undefined
      ? `ended by ${exit.signal ?? exit.lost ?? 'itself'}`
      : `exit code ${String(exit.code)}`;
  const said = exit.code === 0 ? '' : await lastLineOf(ports, name, exit);
  return said === '' ? how : `${how}: ${said}`;
}

/** What it printed last; what it printed beyond the bounds of its output is cut. */
async function lastLineOf({ disk }: TaskPorts, name: string, exit: ExitRecord): Promise<string> {
  for (const [stream, end] of [['stderr', exit.err] as const, ['stdout', exit.out] as const]) {
    const path = `${attemptFolder(name)}/${segmentName(stream, 0)}`;
    const from = Math.max(0, end - OUTPUT_BYTES_MAX);
    const text = new TextDecoder().decode(await disk.readRange(path, from, OUTPUT_BYTES_MAX));
    const line =
      text
        .trim()
        .split('\n')
        .at(-1)
        ?.replaceAll(/[\p{C}]/gu, '') ?? '';
    if (line !== '') return line.slice(0, DETAIL_CHARS_MAX);
  }
  return '';
}
