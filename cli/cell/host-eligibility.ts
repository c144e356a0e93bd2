import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import { isId } from '../../src/core/cell/ids.ts';
import { windowText } from '../../src/core/host/drain-window.ts';
import { drainPreview } from '../../src/clients/drain-preview.ts';
import type { EligibilityRequest, HostStatus } from '../../src/wire/api/monitor-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { duration, plural } from '../../src/wire/values/words.ts';

const STATES = { drain: 'draining', ready: 'ready', cordon: 'cordoned', lost: 'lost' } as const;
export type HostVerb = keyof typeof STATES;

export interface EligibilityOptions {
  readonly reason: string;
  readonly deadline?: string;
  readonly at?: string;
  readonly for?: string;
  readonly wait?: boolean;
  readonly dryRun?: boolean;
}

const POLL_MS = 300;

/** Sets the eligibility of a host: whether it takes new allocations, and whether its allocations move away. */
export async function setEligibility(
  context: Context,
  verb: HostVerb,
  host: string,
  options: EligibilityOptions,
): Promise<number> {
  const api = await context.api();
  if (!isId(host)) throw usageError(`"${host}" is no name of a host`, 'moorage hosts');
  if (options.dryRun === true) return showWhatMoves(context, api, host, options.deadline !== undefined);
  if (options.at !== undefined && options.wait === true)
    throw usageError('--wait is for a drain that begins now', `moorage host status ${host}`);
  const nowMs = context.terminal.nowMs();
  const body: EligibilityRequest = {
    state: STATES[verb],
    reason: options.reason,
    ...(options.deadline === undefined ? {} : { deadlineMs: readLength('--deadline', options.deadline) }),
    ...(options.at === undefined ? {} : { atMs: readAt(options.at, nowMs) }),
    ...(options.for === undefined ? {} : { forMs: readLength('--for', options.for) }),
  };
  const answer = await known(api, host, api.setEligibility(host, body));
  const text = (): string =>
    options.at === undefined ? `${host} is ${STATES[verb]}\n` : `${host} ${plannedText(answer, nowMs)}\n`;
  await printAnswer(context, answer, { name: host, text });
  return options.wait === true
    ? waitUntilEmpty(context, api, host, answer.eligibility?.counter ?? 0)
    : EXIT.ok;
}

/** Gives a silent host up for good, with all that was placed there. */
export async function removeHost(
  context: Context,
  host: string,
  { reason }: EligibilityOptions,
): Promise<number> {
  const api = await context.api();
  if (!isId(host)) throw usageError(`"${host}" is no name of a host`, 'moorage hosts');
  const answer = await known(api, host, api.removeHost(host, reason));
  const text = (): string => {
    const given =
      answer.allocations === 0 ? '' : `: ${plural(answer.allocations, 'allocation')} there given up`;
    return `${host} is removed${given}\n`;
  };
  await printAnswer(context, answer, { name: host, text });
  return EXIT.ok;
}

/** A name that no host has is told with the one that may be meant. */
export async function known<T>(api: MonitorClient, host: string, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.status !== 404) throw error;
    throw await noSuchHost(api, host, error);
  }
}

async function noSuchHost(api: MonitorClient, host: string, cause?: Error): Promise<CliError> {
  const { hosts } = await api.hosts();
  const { didYouMean } = await import('../../src/wire/values/suggest.ts');
  const meant = didYouMean(
    host,
    hosts.map((row) => row.host.id),
  );
  return new CliError(EXIT.usage, `there is no host "${host}"${meant}`, 'moorage hosts', cause);
}

function readLength(flag: string, text: string): number {
  const reading = readDuration(text);
  if (reading.ok && (flag !== '--for' || reading.value > 0)) return reading.value;
  const why = reading.ok ? 'a window has a length, such as 2h' : reading.text;
  throw usageError(`${flag}: ${why}`, 'moorage host drain --help');
}

/** With a date, a time and a zone, as in RFC 3339, seconds left out or not; a time without a zone means another one elsewhere. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;

function readAt(text: string, nowMs: number): number {
  const next = 'moorage host drain --help';
  if (text.startsWith('+')) {
    const reading = readDuration(text.slice(1));
    if (!reading.ok) throw usageError(`--at: ${reading.text}`, next);
    if (reading.value === 0) throw usageError('--at: +0s is now; leave it out to drain now', next);
    return nowMs + reading.value;
  }
  const atMs = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw usageError(
      `--at: "${text}" is no time: write one with its zone, such as 2027-03-01T02:00Z or 2027-03-01T03:00+01:00, or +2h`,
      next,
    );
  if (atMs <= nowMs)
    throw usageError(
      `--at: ${new Date(atMs).toISOString()} is past: it is ${new Date(nowMs).toISOString()}; leave it out to drain now`,
      next,
    );
  return atMs;
}

function plannedText({ eligibility }: HostStatus, nowMs: number): string {
  const window = eligibility?.window;
  if (window === undefined) return `is ${eligibility?.state ?? 'ready'}`;
  return `is ${eligibility?.state ?? 'ready'}, and ${windowText(window)} (in ${duration(window.atMs - nowMs)})`;
}

async function showWhatMoves(
  { terminal }: Context,
  api: MonitorClient,
  host: string,
  hasDeadline: boolean,
): Promise<number> {
  const { hosts } = await api.hosts();
  if (!hosts.some((row) => row.host.id === host)) throw await noSuchHost(api, host);
  const leavers = await drainPreview(api, host, { hasDeadline });
  for (const { name, how } of leavers) terminal.out(`${name} ${how}\n`);
  terminal.out(leavers.length === 0 ? `nothing runs on ${host}\n` : `nothing was done: this was a dry run\n`);
  return EXIT.ok;
}

/**
 * Prints how many allocations are left whenever that changes.
 * @param counter of our eligibility record: a monitor that has not seen it has not seen all earlier placements either
 */
async function waitUntilEmpty(
  context: Context,
  api: MonitorClient,
  host: string,
  counter: number,
): Promise<number> {
  const { terminal } = context;
  for (let before = -1; ;) {
    const { hosts } = await api.hosts();
    const row = hosts.find((one) => one.host.id === host);
    if (row === undefined) throw await noSuchHost(api, host);
    const { state, counter: seen } = row.eligibility ?? { state: 'ready', counter: 0 };
    if (seen >= counter && state !== 'draining') {
      terminal.err(`moorage: ${host} is no longer drained: it was made ${state}\n`);
      return EXIT.workloadFailed;
    }
    if (seen >= counter && row.allocations !== before) {
      before = row.allocations;
      terminal.out(before === 0 ? `${host} is empty\n` : `${String(before)} still there\n`);
      if (before === 0) return EXIT.ok;
    }
    if (context.interrupted.aborted) return EXIT.signalBase + 2;
    await terminal.sleep(POLL_MS, context.interrupted);
  }
}
