import { accessSync, constants } from 'node:fs';
import type { MonitorOptions } from '../../monitor/main.ts';
import { runMonitor } from '../../monitor/main.ts';
import type { ReaperLimits } from '../../monitor/reaper/reaper-limits.ts';
import { isId } from '../../src/core/cell/ids.ts';
import { SELF_FENCE } from '../../src/core/host/fences.ts';
import { readDuration, readMemory } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
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
  readonly fence: readonly string[];
  readonly fenceTimeout?: string;
  readonly alarmAfter?: string;
}

export function serveMonitor(context: Context, flags: MonitorFlags): Promise<number> {
  const basics = roleBasics(flags, 'monitor');
  const { lostAfter, massLossWait, silence, historyKept, storeQuota, fence, fenceTimeout } = flags;
  const options: MonitorOptions = {
    ...basics,
    ...(lostAfter === undefined ? {} : { lostAfterMs: duration('--lost-after', lostAfter) }),
    ...(massLossWait === undefined ? {} : { massLossWaitMs: duration('--mass-loss-wait', massLossWait) }),
    ...(silence === undefined ? {} : { silenceMs: duration('--silence', silence) }),
    reaper: reaperLimits(flags),
    ...(historyKept === undefined ? {} : { historyKeptMs: keptMs('--history-kept', historyKept) }),
    ...(storeQuota === undefined ? {} : { storeQuotaBytes: quotaBytes(storeQuota) }),
    ...(flags.alarmAfter === undefined ? {} : { alarmAfterMs: duration('--alarm-after', flags.alarmAfter) }),
    ...(fence.length === 0 ? {} : { fences: readFences(fence) }),
    ...(fenceTimeout === undefined ? {} : { fenceTimeoutMs: duration('--fence-timeout', fenceTimeout) }),
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

/** `power=/etc/moorage/power-off`; found out now, and not when a host is lost. */
function readFences(texts: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    texts.map((text) => {
      const [, name = '', program = ''] = /^([^=]+)=(\/.+)$/.exec(text) ?? [];
      const why = whyNoFence(name, program);
      if (why === null) return [name, program];
      throw usageError(`--fence ${text}: ${why}`, 'moorage monitor --fence power=/etc/moorage/power-off');
    }),
  );
}

function whyNoFence(name: string, program: string): string | null {
  if (name === SELF_FENCE) return 'self is the host itself, and has no program';
  if (!isId(name)) return "write NAME=PROGRAM, with the program's whole path";
  try {
    accessSync(program, constants.X_OK);
    return null;
  } catch {
    return 'there is no program that may be run';
  }
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
