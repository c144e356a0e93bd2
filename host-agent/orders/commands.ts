import type { ExecOrder } from '../../src/core/host/shim.ts';
import { DiskError } from '../../src/ports/disk.ts';
import type { SignalAnswer } from '../../src/wire/api/attach-frames.ts';
import type { CommandStatus, ExecRequest, SignalRequest } from '../../src/wire/api/exec-api.ts';
import { isCommandId } from '../../src/wire/api/exec-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { attemptName, execName } from '../../src/wire/host-files/attempt-files.ts';
import { attemptFolder, checkShim, readAttempt } from '../tasks/attempt.ts';
import type { AgentContext } from '../agent-context.ts';
import { mainsOf } from '../allocations/outcome.ts';
import type { AgentPorts } from '../ports.ts';
import { noAllocation } from './stop-orders.ts';
import type { TaskRun } from '../tasks/tasks.ts';
import { exitOf } from '../tasks/tasks.ts';

/**
 * Runs a command inside a task. @throws ProblemError `no-allocation`, `no-task`, `not-running`, `disk-full`, `hollow`
 */
export async function runCommand(
  context: AgentContext,
  id: string,
  request: ExecRequest,
): Promise<CommandStatus> {
  const { ports, disk } = context;
  refuseHollow(context);
  const run = taskOf(context, id, request.task);
  const known = await findCommand(context, id, run, request.commandId);
  const attempt = known?.attempt ?? attemptOf(id, run);
  if (known === null && !isOpen(run)) throw notRunning(id, run);
  if (known === null && disk.fault !== null)
    throw full(`the disk of this host takes no writes (${disk.fault})`);
  const sight = known === null ? null : await readAttempt(ports, known.name);
  // Asked for and not begun: the agent may have died before it asked for a shim.
  if (sight === null || sight.kind === 'asked') {
    const name = await ports.processes
      .exec(attempt, request.commandId, orderOf(request))
      .catch((error: unknown) => {
        if (error instanceof DiskError) throw full(error.message);
        throw error;
      });
    if (name === null) throw notRunning(id, run);
  }
  return statusOf(ports, run, execName(attempt, request.commandId), request.commandId);
}

/** @throws ProblemError `no-allocation`, `no-task`, `no-command` */
export async function commandStatus(
  context: AgentContext,
  id: string,
  commandId: string,
  task?: string,
): Promise<CommandStatus> {
  const runs = task === undefined ? (context.table.get(id)?.tasks ?? []) : [taskOf(context, id, task)];
  if (context.table.get(id) === undefined) throw noAllocation(id);
  for (const run of runs) {
    const known = await findCommand(context, id, run, commandId);
    if (known !== null) return statusOf(context.ports, run, known.name, commandId);
  }
  throw new ProblemError({ status: 404, code: 'no-command', detail: `${id} has no command ${commandId}` });
}

/** @throws ProblemError `no-allocation`, `no-task`, `no-command`, `not-running`, `disk-full` */
export async function sendSignal(
  context: AgentContext,
  id: string,
  request: SignalRequest,
): Promise<SignalAnswer> {
  const name = await targetOf(context, id, request);
  const errno = await context.signals
    .send(name, request.commandId, request.signal)
    .catch((error: unknown) => {
      if (error instanceof DiskError) throw full(error.message);
      throw error;
    });
  return { commandId: request.commandId, errno };
}

/**
 * The attempt, or the command in one, that a client means.
 * @throws ProblemError `no-allocation`, `no-task`, `no-command`, `not-running`
 */
export async function targetOf(
  context: AgentContext,
  id: string,
  asked: { readonly task?: string; readonly command?: string },
): Promise<string> {
  const { command, task } = asked;
  if (command === undefined) {
    const run = taskOf(context, id, task);
    if (!run.begun) throw notRunning(id, run);
    return attemptOf(id, run);
  }
  const runs = task === undefined ? (context.table.get(id)?.tasks ?? []) : [taskOf(context, id, task)];
  for (const run of runs) {
    const known = await findCommand(context, id, run, command);
    if (known !== null) return known.name;
  }
  if (context.table.get(id) === undefined) throw noAllocation(id);
  throw new ProblemError({ status: 404, code: 'no-command', detail: `${id} has no command ${command}` });
}

interface Known {
  readonly attempt: string;
  readonly name: string;
}

/** In which attempt it was run: the task may have been restarted since. */
async function findCommand(
  { disk, settings }: AgentContext,
  id: string,
  run: TaskRun,
  commandId: string,
): Promise<Known | null> {
  // It comes in a path or a query, too, and names a folder here.
  if (!isCommandId(commandId)) return null;
  const last = run.attemptNumber;
  for (let number = last; number > Math.max(0, last - settings.attemptsKept); number--) {
    const attempt = attemptName(id, run.task.name, number);
    const name = execName(attempt, commandId);
    if ((await disk.sizeOf(`${attemptFolder(name)}/launch`)) !== null) return { attempt, name };
  }
  return null;
}

async function statusOf(
  ports: AgentPorts,
  run: TaskRun,
  name: string,
  commandId: string,
): Promise<CommandStatus> {
  let sight = await readAttempt(ports, name);
  if ((sight.kind === 'claimed' || sight.kind === 'running') && (await checkShim(ports, name, sight.shim)))
    sight = await readAttempt(ports, name);
  const head = { commandId, task: run.task.name };
  if (sight.kind !== 'ended') return { ...head, state: sight.kind === 'running' ? 'running' : 'starting' };
  const { execErrno } = sight.exit;
  return {
    ...head,
    state: 'ended',
    exit: exitOf(sight.exit),
    ...(execErrno === undefined ? {} : { execErrno }),
  };
}

function taskOf({ table }: AgentContext, id: string, name: string | undefined): TaskRun {
  const tasks = table.get(id)?.tasks;
  if (tasks === undefined) throw noAllocation(id);
  const run = name === undefined ? mainsOf(tasks)[0] : tasks.find((one) => one.task.name === name);
  if (run !== undefined) return run;
  throw new ProblemError({ status: 404, code: 'no-task', detail: `${id} has no task ${name ?? ''}` });
}

function isOpen(run: TaskRun): boolean {
  return run.begun && !run.done && !run.stopped && run.exit === null;
}

function attemptOf(id: string, run: TaskRun): string {
  return attemptName(id, run.task.name, Math.max(1, run.attemptNumber));
}

function orderOf(request: ExecRequest): ExecOrder {
  const { command, env, cwd, terminal, input } = request;
  return {
    command,
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(terminal === undefined ? {} : { pty: terminal }),
    stdin: input === true ? 'open' : 'closed',
  };
}

/** @throws ProblemError `hollow` where tasks only take time: there is nothing to be inside of */
export function refuseHollow(context: AgentContext): void {
  const { id, attributes } = context.host();
  if (attributes['hollow'] !== 'true') return;
  throw new ProblemError({
    status: 409,
    code: 'hollow',
    detail: `${id} is a hollow host: its tasks only take time, and nothing can be run in them or attached to them`,
    hint: 'ask on a host without the attribute hollow',
  });
}

function notRunning(id: string, run: TaskRun): ProblemError {
  const detail = `task ${run.task.name} of ${id} does not run`;
  return new ProblemError({ status: 409, code: 'not-running', detail });
}

function full(detail: string): ProblemError {
  return new ProblemError({ status: 507, code: 'disk-full', detail });
}
