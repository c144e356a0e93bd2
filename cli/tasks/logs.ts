import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { slotName } from '../../src/core/cell/ids.ts';
import type { LogStream } from '../../src/wire/api/host-api.ts';
import { LOG_STREAMS } from '../../src/wire/api/host-api.ts';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Context } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
import { endWithReader } from '../command/reader-gone.ts';
import { findPart } from '../names/find-part.ts';
import { colouredName } from '../output/colour.ts';
import { LastLines } from './last-lines.ts';
import type { LogPlace } from './relay.ts';
import { relay, relayRest } from './relay.ts';

export interface LogsOptions {
  readonly follow: boolean;
  readonly stream?: string;
  readonly group?: string;
  readonly index?: string;
  readonly allocation?: string;
  readonly task?: string;
  /** Lines of each stream; absent: all that is kept. */
  readonly tail?: number;
}

interface Following {
  readonly follow: boolean;
  readonly tail?: number;
  readonly stream?: LogStream;
  /** Which allocations: group, index, allocation; and which task. */
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

const POLL_MS = 500;
/** Streams that are read at once; the others of a large job wait. */
const STREAMS_MAX = 64;

/** The output of a job's allocations, merged by line with their names, the ended ones included. */
export async function logs(context: Context, written: string, options: LogsOptions): Promise<number> {
  const { stream, group, index, allocation, task, tail } = options;
  const streamOption = stream === undefined ? {} : { stream: streamOf(stream) };
  const { name, status, ...part } = await findPart(context, written);
  const query = { ...part, ...only({ group, allocation, task, index }) };
  checkNames(status, query, options.follow);
  const api = await context.api();
  const signal = context.interrupted;
  if (options.follow) endWithReader();
  const tailOption = tail === undefined ? {} : { tail };
  await followLogs(context, api, name, {
    ...{ follow: options.follow, query, signal },
    ...streamOption,
    ...tailOption,
  });
  return 0;
}

/** What is asked for and cannot be there would be silence otherwise. @throws CliError */
function checkNames(status: JobStatus, query: Following['query'], follow: boolean): void {
  const { job } = status.record;
  const { group, task, index, allocation } = query;
  const groups = Object.values(job.groups).filter((one) => group === undefined || one.name === group);
  const next = `moorage ps ${job.name}`;
  if (groups.length === 0)
    throw usageError(
      `"${job.name}" has no group "${group ?? ''}": ${Object.keys(job.groups).join(', ')}`,
      next,
    );
  const tasks = groups.flatMap((one) => Object.keys(one.tasks));
  if (task !== undefined && !tasks.includes(task))
    throw usageError(`"${job.name}" has no task "${task}": ${[...new Set(tasks)].join(', ')}`, next);
  if (index !== undefined && !/^\d{1,9}$/.test(index))
    throw usageError(`--index ${index}: expected a whole number`, next);
  const picked = index !== undefined || allocation !== undefined;
  if (picked && !follow && partsOf(status, query).length === 0)
    throw usageError(
      `"${job.name}" has no allocation ${allocation ?? `[${index ?? ''}]`}, and had none`,
      next,
    );
}

function streamOf(text: string): LogStream {
  const found = LOG_STREAMS.find((stream) => stream === text);
  if (found === undefined)
    throw usageError(`--stream ${text}: expected stdout or stderr`, 'moorage logs --help');
  return found;
}

function only(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

interface Part {
  readonly allocation: string;
  readonly slot: string;
}

/** Writes what is there and, when following, what comes, until the job has ended. */
export async function followLogs(
  context: Context,
  api: MonitorClient,
  name: JobRef,
  following: Following,
): Promise<void> {
  const seen = new Set<string>();
  const running = new Set<Promise<void>>();
  for (;;) {
    const status = await api.status(name);
    const parts = partsOf(status, following.query);
    const single = !following.follow && parts.length === 1;
    for (const part of parts) {
      if (seen.has(part.allocation)) continue;
      seen.add(part.allocation);
      const isBare = single || (parts.length === 1 && isSingle(status));
      const prefix = isBare ? null : `${colouredName(part.slot, context.terminal.colour)} `;
      for (const stream of following.stream === undefined ? LOG_STREAMS : [following.stream]) {
        if (running.size >= STREAMS_MAX) await Promise.race(running);
        const one = relayPart(context, api, name, part, stream, prefix, following).finally(() =>
          running.delete(one),
        );
        running.add(one);
      }
    }
    const ended = ['complete', 'failed', 'stopped'].includes(status.summary.phase);
    if (!following.follow || ended || following.signal.aborted) break;
    await context.terminal.sleep(POLL_MS, following.signal);
  }
  await Promise.all(running);
}

/** A job that can only ever have one allocation at a time needs no names. */
function isSingle(status: JobStatus): boolean {
  const groups = Object.values(status.record.job.groups);
  return status.record.job.type !== 'system' && groups.length === 1 && groups[0]?.count === 1;
}

function partsOf(status: JobStatus, query: Following['query']): Part[] {
  const rows = [
    ...status.outcomes.map((row) => ({ ...row, id: row.allocation })).filter((row) => row.host !== ''),
    ...status.allocations.map((row) => row.allocation),
  ];
  return rows
    .filter((row) => query.group === undefined || row.group === query.group)
    .filter((row) => query.index === undefined || row.index === Number(query.index))
    .filter((row) => query.allocation === undefined || row.id === query.allocation)
    .map((row) => ({ allocation: row.id, slot: slotName(row.job, row.group, row.index) }));
}

async function relayPart(
  context: Context,
  api: MonitorClient,
  name: JobRef,
  part: Part,
  stream: LogStream,
  prefix: string | null,
  following: Following,
): Promise<void> {
  const { terminal } = context;
  const raw = stream === 'stdout' ? terminal.out.bind(terminal) : terminal.err.bind(terminal);
  const lines = prefix === null ? null : prefixLines(prefix, raw);
  const task = following.query.task === undefined ? {} : { task: following.query.task };
  const source = { name, call: { stream, allocation: part.allocation, ...task } };
  const { follow, signal, tail } = following;
  const write = lines === null ? raw : lines.push;
  const place: LogPlace = { allocation: null, offset: 0 };
  try {
    if (tail !== undefined) {
      const last = new LastLines(tail);
      const keep = { follow: false, signal, place, write: (chunk: Uint8Array) => last.push(chunk) };
      await (follow ? relayRest : relay)(api, terminal, source, keep);
      write(last.bytes);
      if (!follow) return;
    }
    await relay(api, terminal, source, {
      ...{ follow, signal, write, place },
      onGap: (bytes) =>
        terminal.err(`moorage: ${part.slot}: ${String(bytes)} older bytes of ${stream} are gone\n`),
    });
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    if (stream === 'stdout') terminal.err(`moorage: ${part.slot}: ${error.problem.detail}\n`);
  } finally {
    lines?.end();
  }
}

const LINE_BYTES_MAX = 64 * 1024;
const NEWLINE = Buffer.from('\n');

/** Puts a prefix before each line; a line is written when it is whole, so that lines never mix. */
function prefixLines(prefix: string, write: (chunk: Uint8Array) => void) {
  let rest = Buffer.alloc(0);
  const line = (bytes: Uint8Array): void => write(Buffer.concat([Buffer.from(prefix), bytes]));
  return {
    push: (chunk: Uint8Array): void => {
      let data = Buffer.concat([rest, chunk]);
      for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10)) {
        line(data.subarray(0, end + 1));
        data = data.subarray(end + 1);
      }
      // A line without an end is cut here: no task may fill our memory.
      if (data.length > LINE_BYTES_MAX) {
        line(Buffer.concat([data, NEWLINE]));
        data = Buffer.alloc(0);
      }
      rest = data;
    },
    end: (): void => {
      if (rest.length > 0) line(Buffer.concat([rest, NEWLINE]));
      rest = Buffer.alloc(0);
    },
  };
}
