import type { CheckReport } from '../../sim/checkers/check-history.ts';
import { checkHistory } from '../../sim/checkers/check-history.ts';
import { VIOLATIONS_MAX } from '../../sim/checkers/replay/violations.ts';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { EtcdUpkeep } from '../../src/adapters/etcd/upkeep.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { HostClient } from '../../src/clients/host-client.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { StoreSize } from '../../src/ports/store-upkeep.ts';
import type { HostListing } from '../../src/wire/api/host-api.ts';
import { hostCodec } from '../../src/wire/records/records.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import { mebibytes, plural } from '../../src/wire/values/words.ts';
import type { NamedStore, StoreFlags } from './store-flags.ts';
import { storeOf } from './store-flags.ts';

/** Hosts that are asked at once. */
const HOSTS_IN_FLIGHT = 16;

/** Replays the cell's history from etcd and compares it with what the hosts hold. */
export async function check(context: Context, options: StoreFlags): Promise<number> {
  const found = await checkCell(storeOf(context, options, 'check'));
  await printAnswer(context, found, { name: found.report.verdict, text: () => renderCheck(found) });
  return exitOf(found);
}

export interface CheckedCell {
  readonly report: CheckReport;
  readonly store: StoreSize;
  readonly silentHosts: readonly string[];
}

/** Only `holds` is a success: a check of an empty history has proved nothing. */
export function exitOf({ report }: CheckedCell): number {
  return report.verdict === 'holds' ? EXIT.ok : EXIT.workloadFailed;
}

/** @throws StoreError */
export async function checkCell({ etcd, cell, credentials }: NamedStore): Promise<CheckedCell> {
  const reach = { endpoints: etcd, credentials };
  const store = new EtcdCellStore({ ...reach, clock: systemClock, log: silentLog });
  const upkeep = new EtcdUpkeep(reach);
  try {
    const keys = cellKeys(cell);
    // The hosts first: what they run must have been committed before, so it must be in the history read after.
    const { listings, silentHosts } = await askHosts(store, keys, credentials);
    const report = await checkHistory(store, keys, listings);
    const meta = await store.read([keys.meta]);
    if (report.verdict === 'nothing-seen' && !meta.entries.has(keys.meta))
      throw new CliError(
        EXIT.workloadFailed,
        `the store holds no cell "${cell}": there was nothing to look at`,
        'moorage check --cell NAME',
      );
    return { report, store: await upkeep.measure(), silentHosts };
  } finally {
    await Promise.all([store.close(), upkeep.close()]);
  }
}

async function askHosts(
  store: CellStore,
  keys: CellKeys,
  credentials: Credentials | undefined,
): Promise<{ listings: HostListing[]; silentHosts: string[] }> {
  const { entries } = await store.list(keys.hosts);
  const hosts = [...entries.values()].map((entry) => hostCodec.decode(entry.value));
  const http = nodeClient(credentials);
  const client = new HostClient(http);
  const listings: HostListing[] = [];
  const silentHosts: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let host = hosts[next++]; host !== undefined; host = hosts[next++]) {
      const listing = await client.list(host.address).catch(() => null);
      if (listing === null) silentHosts.push(host.id);
      else listings.push(listing);
    }
  };
  await Promise.all(Array.from({ length: HOSTS_IN_FLIGHT }, worker));
  await http.close();
  return { listings, silentHosts };
}

const INVARIANTS = 'I1 I2 I3 I4 I6 I7 I8 I12 I13 I74';

export function renderCheck({ report, store, silentHosts }: CheckedCell): string {
  const from = report.wholeHistory
    ? 'from the beginning'
    : `from revision ${String(report.fromRevision)} on (older history is compacted)`;
  const lines = [
    `looked at ${plural(report.revisions, 'revision')} ${from} to ${String(report.toRevision)}: ` +
      `${plural(report.commits, 'commit')} in ${plural(report.transactions, 'transaction')}, ${plural(report.allocations, 'allocation')}, ${plural(report.hosts, 'host')}`,
  ];
  lines.push(
    `the store's database has ${mebibytes(store.databaseBytes)}, of which ${mebibytes(store.inUseBytes)} are in use` +
      (store.isFull ? '; it is full, and refuses writes' : ''),
  );
  if (silentHosts.length > 0)
    lines.push(
      `${plural(silentHosts.length, 'host')} did not answer: ${silentHosts.slice(0, 8).join(', ')}${silentHosts.length > 8 ? ', ...' : ''}`,
    );
  if (report.verdict === 'holds') lines.push(`no violation of ${INVARIANTS}`);
  if (report.verdict === 'nothing-seen')
    lines.push('there was no commit and no allocation to look at: nothing is proved');
  if (report.verdict !== 'violated') return `${lines.join('\n')}\n`;
  lines.push(
    `${plural(report.violationsTotal, 'violation')}${report.violationsTotal > VIOLATIONS_MAX ? `, the first ${String(VIOLATIONS_MAX)}` : ''}:`,
  );
  const table = formatTable(
    [
      { title: 'INVARIANT', cell: (row) => row.invariant },
      { title: 'REVISION', cell: (row) => String(row.revision), align: 'right' },
      { title: 'KEY', cell: (row) => row.key },
      { title: 'WHAT', cell: (row) => row.detail },
    ],
    report.violations,
  );
  return `${lines.join('\n')}\n${table}`;
}
