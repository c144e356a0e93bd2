import type { CellStatus, KeptCount, KeptRecords, StoreStatus } from '../../src/wire/api/cell-api.ts';
import { windowText } from '../../src/core/host/drain-window.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import { duration, mebibytes, percent, plural, storeAwayText } from '../../src/wire/values/words.ts';
import { budgetLines } from './budgets.ts';
import { pauseLines } from './pause.ts';
import { POOL_COLUMNS, poolRows } from './shared.ts';

/** The cell as a whole: how much there is of it, how full its store is, what hosts share, what it may still do by itself. */
export async function cellStatus(context: Context): Promise<number> {
  const api = await context.api();
  const [cell, { pauses }, { budgets }] = await Promise.all([api.cell(), api.pauses(), api.budgets()]);
  const answer = { ...cell, pauses, budgets };
  const nowMs = context.terminal.nowMs();
  const text = (): string =>
    [
      ...awayLines(cell, nowMs),
      ...pauseLines(answer, nowMs),
      ...drainLines(cell),
      ...budgetLines(answer),
      render(cell),
    ].join('\n');
  await printAnswer(context, answer, { text });
  return EXIT.ok;
}

function awayLines({ storeAwaySinceMs: sinceMs }: CellStatus, nowMs: number): readonly string[] {
  return sinceMs === undefined ? [] : [storeAwayText(nowMs, sinceMs)];
}

function drainLines({ drains = [] }: CellStatus): readonly string[] {
  return drains.map(({ host, state, window }) => `${host} is ${state}, and ${windowText(window)}`);
}

function render({ hosts, jobs, allocations, store, shared, kept }: CellStatus): string {
  const lines = [
    `${plural(hosts.known, 'host')}, ${String(hosts.alive)} alive; ${plural(jobs, 'job')}, ${plural(allocations, 'allocation')}`,
    ...(store === null
      ? ['the store: not measured: it does not answer, or this monitor does not maintain it']
      : storeLines(store)),
    ...(kept === undefined ? [] : keptLines(kept)),
  ];
  const rows = poolRows(shared);
  return `${lines.join('\n')}\n${rows.length === 0 ? '' : `\n${formatTable(POOL_COLUMNS, rows)}`}`;
}

function keptLines({ runs, jobs, versions, outcomes }: KeptRecords): string[] {
  const each = (most: number | null): string => (most === null ? 'all' : `at most ${String(most)}`);
  return [
    `ended: ${keptText('one-off run', runs)}; ${keptText('job', jobs)}`,
    `earlier versions: ${String(versions.count)} (${each(versions.mostEach)} a job, ${forText(versions.forMs)}); ` +
      `outcomes: ${String(outcomes.count)} (${each(outcomes.mostEach)} a slot)`,
  ];
}

function keptText(what: string, { count, most, forMs }: KeptCount): string {
  return `${plural(count, what)} of ${String(most)} ${percent(count, most)}, ${forText(forMs)}`;
}

function forText(ms: number | null): string {
  return ms === null ? 'kept for ever' : `kept for ${duration(ms)}`;
}

function storeLines(store: StoreStatus): string[] {
  const { databaseBytes, inUseBytes, quotaBytes, revision, compactedRevision } = store;
  const ofQuota = percent(databaseBytes, quotaBytes);
  return [
    `the store: ${mebibytes(databaseBytes)} of ${mebibytes(quotaBytes)} ${ofQuota}, ${mebibytes(inUseBytes)} in use` +
      (store.isFull ? '; it is full, and refuses writes' : ''),
    `at revision ${String(revision)}; its past is kept from ${String(compactedRevision)} on`,
  ];
}
