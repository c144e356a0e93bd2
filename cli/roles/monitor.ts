import { runMonitor } from '../../monitor/main.ts';
import { readDuration } from '../../src/wire/units.ts';
import type { Context } from '../context.ts';
import type { RoleFlags } from './options.ts';
import { readAmount, roleBasics } from './options.ts';
import { serveRole } from './serve.ts';

export interface MonitorFlags extends RoleFlags {
  readonly lostAfter?: string;
  readonly silence?: string;
  readonly runRetention?: string;
}

export function serveMonitor(context: Context, flags: MonitorFlags): Promise<number> {
  const basics = roleBasics(flags, 'monitor');
  const { lostAfter, silence, runRetention } = flags;
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
    }),
  );
}
