import { slotName } from '../../src/core/ids.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { CellEvent } from '../../src/wire/monitor-api.ts';
import type { Context } from '../context.ts';
import { alarming, colouredName } from '../output/colour.ts';
import { clean } from '../output/table.ts';
import { clockTime } from '../output/words.ts';

export interface EventsOptions {
  readonly follow: boolean;
  readonly since?: string;
  readonly job?: string;
  readonly kind?: string;
}

const RETRY_MS = 500;

/** What happened in the cell, one line each; goes on at another monitor after the last one seen. */
export async function events(context: Context, options: EventsOptions): Promise<number> {
  const { terminal, interrupted } = context;
  const api = await context.api();
  // Without following, what is held is what was asked for; a follower wants what comes.
  let since = options.since ?? (options.follow ? 'now' : '0');
  while (!interrupted.aborted) {
    try {
      for await (const event of api.events(since, { follow: options.follow })) {
        since = event.id;
        if (wanted(event, options)) terminal.out(render(event, context));
      }
      if (!options.follow) return 0;
    } catch (error) {
      if (interrupted.aborted) break;
      if (!options.follow || !(error instanceof HttpError)) throw error;
    }
    await terminal.sleep(RETRY_MS, interrupted);
  }
  return 0;
}

function wanted(event: CellEvent, options: EventsOptions): boolean {
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
    clean(event.detail),
  ];
  return `${parts.join('  ')}\n`;
}

function slotless(event: CellEvent): string {
  const job = event.job ?? '';
  return event.allocation === undefined ? job : slotName(job, job, 0).replace('[0]', '');
}
