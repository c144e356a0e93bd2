import { runMonitor } from '../../monitor/main.ts';
import { readDuration, readMemory } from '../../src/wire/units.ts';
import type { Context } from '../context.ts';
import type { RoleFlags } from './options.ts';
import { readAmount, roleBasics } from './options.ts';
import { serveRole } from './serve.ts';

export interface MonitorFlags extends RoleFlags {
  readonly lostAfter?: string;
  readonly silence?: string;
  readonly runRetention?: string;
  readonly historyKept?: string;
  readonly storeQuota?: string;
}

export function serveMonitor(context: Context, flags: MonitorFlags): Promise<number> {
  const basics = roleBasics(flags, 'monitor');
  const { lostAfter, silence, runRetention, historyKept, storeQuota } = flags;
  return serveRole(context, basics, true, () =>
    runMonitor({
      ...basics,
      ...(lostAfter === undefined
        ? {}
        : { lostAfterMs: readAmount('--lost-after', lostAfter, readDuration) }),
      ...(silence === undefined ? {} : { silenceMs: readAmount('--silence', silence, readDuration) }),
      ...(runRetention === undefined
        ? {}
        : { runRetentionMs: readAmount('--run-retention', runRetention, readDuration) }),
      ...(historyKept === undefined ? {} : { historyKeptMs: keptMs(historyKept) }),
      ...(storeQuota === undefined
        ? {}
        : { storeQuotaBytes: readAmount('--store-quota', storeQuota, readMemory) * BYTES_PER_MIB }),
    }),
  );
}

const BYTES_PER_MIB = 1024 ** 2;

/** null: for ever. */
function keptMs(written: string): number | null {
  return written === 'all' ? null : readAmount('--history-kept', written, readDuration);
}
