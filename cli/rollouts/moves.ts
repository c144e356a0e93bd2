import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { JOB_MOVES_MAX } from '../../src/core/cell/job.ts';
import type { AllocationStatus, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { PlanAnswer, PlanMove } from '../../src/wire/plan/plan.ts';
import { plural } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { readTimeout } from '../jobs/timeout.ts';
import { findAllocation } from '../names/find-allocation.ts';
import { findPart } from '../names/find-part.ts';
import { printAnswer } from '../output/output.ts';

export interface MoveOptions {
  readonly reason: string;
  readonly detach: boolean;
  readonly timeout?: string;
}

const POLL_MS = 300;

/** A move that was asked for. */
interface Asked {
  readonly name: JobRef;
  readonly slot: string;
  readonly allocation: string;
  readonly from: string;
}

/** Asks for one allocation to run on another host, and follows it there. */
export async function moveOne(
  context: Context,
  written: string,
  { to, ...options }: MoveOptions & { readonly to?: string },
): Promise<number> {
  const timeoutMs = timeoutOf('move', options);
  const { name, status } = await findPart(context, written);
  const allocation = await findAllocation(context, written);
  const found = status.allocations.find((one) => one.allocation.id === allocation);
  if (found === undefined)
    throw new CliError(EXIT.usage, `"${written}" is gone meanwhile`, `moorage ps ${name.job}`);
  const api = await context.api();
  const wanted = { allocation, ...(to === undefined ? {} : { to }) };
  const answer = await api.move(name, { moves: [wanted], reason: options.reason });
  const { host: from } = found.allocation;
  const text = (): string =>
    `${found.name} is to move ${to === undefined ? `off ${from}` : `from ${from} to ${to}`}\n`;
  await printAnswer(context, answer, { name: found.name, text });
  if (options.detach) return EXIT.ok;
  return await follow(context, api, [{ name, slot: found.name, allocation, from }], timeoutMs);
}

/** What moves would make the cell better; unless it is a dry run, they are asked for and followed. */
export async function rebalance(
  context: Context,
  { budget, dryRun, ...options }: MoveOptions & { readonly budget: number; readonly dryRun: boolean },
): Promise<number> {
  const timeoutMs = timeoutOf('rebalance', options);
  const api = await context.api();
  const answer = await api.plan({ rebalance: { budget } });
  const moves = answer.moves ?? [];
  const name = moves.map(({ slot }) => slot).join('\n');
  await printAnswer(context, answer, { name, text: () => textOf(answer, moves, dryRun) });
  if (answer.unanswered.length > 0 && moves.length === 0) return EXIT.unreachable;
  if (dryRun) return moves.length === 0 ? EXIT.ok : EXIT.workloadFailed;
  const asked = await ask(context, api, moves, options.reason);
  if (options.detach) return EXIT.ok;
  return await follow(context, api, asked, timeoutMs);
}

function textOf(answer: PlanAnswer, moves: readonly PlanMove[], dryRun: boolean): string {
  const { unanswered, isCut, movesHidden = 0 } = answer;
  const gain = moves.reduce((sum, move) => sum + move.gain, 0);
  return [
    ...moves.map(
      ({ namespace, slot, from, to, gain: own, reason }) =>
        `move ${namespace}/${slot} from ${from} to ${to}: ${reason} (+${own.toFixed(2)})`,
    ),
    ...(movesHidden === 0 ? [] : [`and ${plural(movesHidden, 'move')} in namespaces that you do not see`]),
    ...unanswered.map((what) => `not asked: ${what}`),
    ...(isCut ? ['not all was looked at: it took too long'] : []),
    moves.length === 0
      ? 'nothing that may be moved would be better elsewhere'
      : `${plural(moves.length, 'move')}, better by ${gain.toFixed(2)} in all`,
    ...(dryRun ? ['nothing was done: this was a dry run'] : []),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** Job by job: one that has changed meanwhile keeps no other from its moves. */
async function ask(
  context: Context,
  api: MonitorClient,
  moves: readonly PlanMove[],
  reason: string,
): Promise<readonly Asked[]> {
  const byJob = new Map<string, PlanMove[]>();
  for (const move of moves) {
    const key = `${move.namespace}/${move.job}`;
    byJob.set(key, [...(byJob.get(key) ?? []), move]);
  }
  const asked: Asked[] = [];
  for (const [key, all] of byJob) {
    const some = all.slice(0, JOB_MOVES_MAX);
    const [namespace = '', job = ''] = key.split('/');
    const name = { namespace, job };
    const wanted = some.map(({ allocation, to }) => ({ allocation, to }));
    try {
      await api.move(name, { moves: wanted, reason });
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      context.terminal.err(`moorage: ${key} is left as it is: ${error.message}\n`);
      continue;
    }
    asked.push(...some.map(({ slot, allocation, from }) => ({ name, slot, allocation, from })));
  }
  return asked;
}

/** Says of each when it runs elsewhere. @returns 1 when something stayed or does not run */
async function follow(
  context: Context,
  api: MonitorClient,
  asked: readonly Asked[],
  timeoutMs: number,
): Promise<number> {
  const { terminal } = context;
  const show = context.output === 'table';
  const untilMs = terminal.nowMs() + timeoutMs;
  let left = asked;
  let code: number = EXIT.ok;
  for (;;) {
    const statuses = await statusesOf(api, left);
    const next: Asked[] = [];
    for (const one of left) {
      const end = endOf(one, statuses.get(keyOf(one)));
      if (end === null) next.push(one);
      else if (show) terminal.out(`${one.slot} ${end.text}\n`);
      if (end?.isMoved === false) code = EXIT.workloadFailed;
    }
    left = next;
    if (left.length === 0) return code;
    if (context.interrupted.aborted) return EXIT.signalBase + 2;
    if (terminal.nowMs() >= untilMs) {
      terminal.err(`moorage: ${plural(left.length, 'move')} not done in time; they go on: moorage why JOB\n`);
      return EXIT.workloadFailed;
    }
    await terminal.sleep(POLL_MS, context.interrupted);
  }
}

async function statusesOf(
  api: MonitorClient,
  asked: readonly Asked[],
): Promise<ReadonlyMap<string, JobStatus>> {
  const names = new Map(asked.map((one) => [keyOf(one), one.name]));
  const statuses = new Map<string, JobStatus>();
  for (const [key, name] of names) statuses.set(key, await api.status(name));
  return statuses;
}

function keyOf({ name }: Asked): string {
  return `${name.namespace}/${name.job}`;
}

/** How it came out; null: it is not done yet. */
function endOf(
  { slot, allocation, from }: Asked,
  status: JobStatus | undefined,
): { readonly text: string; readonly isMoved: boolean } | null {
  if (status === undefined) return null;
  const { record, allocations } = status;
  if (record.desired !== 'run') return { text: 'was stopped meanwhile', isMoved: false };
  const isHere = allocations.some((one) => one.allocation.id === allocation && isWanted(one));
  const isAsked = record.moves?.some((move) => move.allocation === allocation) === true;
  if (isHere)
    return isAsked ? null : { text: `stays on ${from}: its job was changed meanwhile`, isMoved: false };
  const now = allocations.find((one) => one.name === slot && isWanted(one));
  if (now?.report?.state !== 'running') return null;
  const { host } = now.allocation;
  if (host === from) return { text: `runs on ${from} again: no other host took it`, isMoved: false };
  return { text: `moved from ${from} to ${host}`, isMoved: true };
}

function isWanted({ allocation }: AllocationStatus): boolean {
  return allocation.desired === 'run';
}

function timeoutOf(verb: string, { timeout, detach }: Omit<MoveOptions, 'reason'>): number {
  if (timeout === undefined) return Number.POSITIVE_INFINITY;
  if (detach) throw usageError('--timeout is for a move that is followed', `moorage ${verb} --help`);
  return readTimeout(verb, timeout);
}
