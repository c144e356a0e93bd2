import type { MonitorOptions } from '../../monitor/main.ts';
import { runMonitor } from '../../monitor/main.ts';
import type { ReaperLimits } from '../../monitor/reaper/reaper-limits.ts';
import { readDuration, readMemory } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import type { RoleFlags } from './options.ts';
import { readAmount, roleBasics } from './options.ts';
import { serveRole } from './serve.ts';

export interface MonitorFlags extends RoleFlags {
  readonly lostAfter?: string;
  readonly massLossWait?: string;
  readonly silence?: string;
  readonly orphanAfter?: string;
  readonly runRetention?: string;
  readonly runsKept?: number;
  readonly jobRetention?: string;
  readonly jobsKept?: number;
  readonly versionRetention?: string;
  readonly versionsKept?: number | null;
  readonly outcomesPerSlot?: number | null;
  readonly historyKept?: string;
  readonly storeQuota?: string;
}

export function serveMonitor(context: Context, flags: MonitorFlags): Promise<number> {
  const basics = roleBasics(flags, 'monitor');
  const { lostAfter, massLossWait, silence, historyKept, storeQuota } = flags;
  const options: MonitorOptions = {
    ...basics,
    ...(lostAfter === undefined ? {} : { lostAfterMs: duration('--lost-after', lostAfter) }),
    ...(massLossWait === undefined ? {} : { massLossWaitMs: duration('--mass-loss-wait', massLossWait) }),
    ...(silence === undefined ? {} : { silenceMs: duration('--silence', silence) }),
    reaper: reaperLimits(flags),
    ...(historyKept === undefined ? {} : { historyKeptMs: keptMs('--history-kept', historyKept) }),
    ...(storeQuota === undefined ? {} : { storeQuotaBytes: quotaBytes(storeQuota) }),
  };
  return serveRole(context, basics, { start: () => runMonitor(options) });
}

function reaperLimits(flags: MonitorFlags): Partial<ReaperLimits> {
  const { orphanAfter, runRetention, jobRetention, jobsKept, versionRetention } = flags;
  const { versionsKept, outcomesPerSlot, runsKept } = flags;
  return {
    ...(orphanAfter === undefined ? {} : { orphanMs: duration('--orphan-after', orphanAfter) }),
    ...(runRetention === undefined ? {} : { runRetentionMs: duration('--run-retention', runRetention) }),
    ...(runsKept === undefined ? {} : { runsKept }),
    ...(jobRetention === undefined ? {} : { jobRetentionMs: keptMs('--job-retention', jobRetention) }),
    ...(jobsKept === undefined ? {} : { jobsKept }),
    ...(versionRetention === undefined
      ? {}
      : { versionRetentionMs: keptMs('--version-retention', versionRetention) }),
    ...(versionsKept === undefined ? {} : { versionsKept }),
    ...(outcomesPerSlot === undefined ? {} : { outcomesPerSlot }),
  };
}

function duration(flag: string, text: string): number {
  return readAmount(flag, text, readDuration, 'monitor');
}

function quotaBytes(text: string): number {
  return readAmount('--store-quota', text, readMemory, 'monitor') * BYTES_PER_MIB;
}

const BYTES_PER_MIB = 1024 ** 2;

/** null: for ever. */
function keptMs(flag: string, written: string): number | null {
  return written === 'all' ? null : duration(flag, written);
}
