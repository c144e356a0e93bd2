import { slotName } from '../../src/core/cell/ids.ts';
import { EventCursor } from '../../src/clients/event-cursor.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { eventPositionOf } from '../../src/wire/api/event-position.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
import { endWithReader } from '../command/reader-gone.ts';
import { alarming, colouredName } from '../output/colour.ts';
import { clean } from '../output/table.ts';
import { clockTime } from '../../src/wire/values/words.ts';

export interface EventsOptions {
  readonly follow: boolean;
  readonly since?: string;
  readonly job?: string;
  readonly kind?: string;
}

const RETRY_MS = 500;
/** An id that a role gave, as `batch-1:17`. */
const ROLE_EVENT_ID = /^[\w.-]+:[\w.-]+$/;

/** Prints the events of the cell, one line each; continues at another monitor after the last one seen. */
export async function events(context: Context, options: EventsOptions): Promise<number> {
  const { terminal, interrupted } = context;
  if (options.follow) endWithReader();
  const api = await context.api();
  // Without following, what is held is what was asked for; a follower wants what comes.
  const start = readSince(options.since ?? (options.follow ? 'now' : '0'), terminal.nowMs());
  const cursor = new EventCursor(start.since);
  const otherKinds = new Set<string>();
  let shown = 0;
  while (!interrupted.aborted) {
    try {
      const onBegin = (place: string): void => cursor.began(place);
      for await (const event of api.events(cursor.since, { follow: options.follow, onBegin })) {
        cursor.saw(event);
        if (event.atMs < start.fromMs) continue;
        if (wanted(event, options)) {
          shown += 1;
          terminal.out(render(event, context));
        } else otherKinds.add(event.kind);
      }
      if (!options.follow) {
        if (shown === 0) terminal.err(`${nothingOf(options, otherKinds)}\n`);
        return 0;
      }
    } catch (error) {
      if (interrupted.aborted) break;
      if (!options.follow || !(error instanceof HttpError)) throw error;
    }
    await terminal.sleep(RETRY_MS, interrupted);
  }
  return 0;
}

/** @returns the id to read after, and from which time on what it gives is shown */
function readSince(text: string, nowMs: number): { since: string; fromMs: number } {
  if (text === 'now' || eventPositionOf(text) !== null || ROLE_EVENT_ID.test(text))
    return { since: text, fromMs: 0 };
  const reading = readDuration(text);
  if (reading.ok) return { since: '0', fromMs: nowMs - reading.value };
  throw usageError(
    `--since ${text}: it is not an event's id, 0, now, or a time such as 10m`,
    'moorage events --help',
  );
}

/** A mistyped name would otherwise look like a quiet cell. */
function nothingOf({ job, kind }: EventsOptions, otherKinds: ReadonlySet<string>): string {
  if (otherKinds.size === 0) return 'no events are held';
  const asked = [
    ...(kind === undefined ? [] : [`kind ${kind}`]),
    ...(job === undefined ? [] : [`job ${job}`]),
  ];
  return `none of ${asked.join(' and ')}; there are: ${[...otherKinds].sort().join(', ')}`;
}

function wanted(event: CellEvent, options: EventsOptions): boolean {
  if (event.missed !== undefined) return true;
  if (options.job !== undefined && event.job !== options.job) return false;
  return options.kind === undefined || options.kind.split(',').includes(event.kind);
}

const ALARMING = new Set(['conflict', 'failed', 'host-lost', 'refused-ticket', 'refused-host', 'gap']);

function render(event: CellEvent, { terminal, output }: Context): string {
  if (output !== 'table') return output === 'name' ? `${event.id}\n` : `${JSON.stringify(event)}\n`;
  const kind = event.kind.padEnd(14);
  const subject = event.slot ?? (event.job === undefined ? '' : slotless(event));
  const parts = [
    clockTime(event.atMs),
    ALARMING.has(event.kind) ? alarming(kind, terminal.colour) : kind,
    colouredName(event.source, terminal.colour),
    ...(subject === '' ? [] : [subject]),
    ...(event.host === undefined || event.host === '' ? [] : [`on ${event.host}`]),
    clean(event.detail) + raceText(event),
  ];
  return `${parts.join('  ')}\n`;
}

/** Which commit came first. */
function raceText({ readRevision, foundRevision }: CellEvent): string {
  if (readRevision === undefined || foundRevision === undefined) return '';
  return ` (ledger read at revision ${String(readRevision)}, changed at ${String(foundRevision)})`;
}

function slotless(event: CellEvent): string {
  const job = event.job ?? '';
  return event.allocation === undefined ? job : slotName(job, job, 0).replace('[0]', '');
}
