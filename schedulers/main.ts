import { EtcdCellStore } from '../src/adapters/etcd/etcd.ts';
import { WarmUpStore } from '../src/adapters/etcd/warm-up-store.ts';
import { undiciClient } from '../src/adapters/http/client.ts';
import type { Reach } from '../src/adapters/http/http.ts';
import { fastifyServer } from '../src/adapters/http/http.ts';
import { sha256Hex } from '../src/adapters/system/digest.ts';
import { systemClock, systemRandom } from '../src/adapters/system/system.ts';
import { systemFailures } from '../src/adapters/system/fail-points.ts';
import { promMetrics } from '../src/adapters/telemetry/metrics.ts';
import { silentLog, silentMetrics } from '../src/adapters/telemetry/silent.ts';
import { openTracing } from '../src/adapters/telemetry/tracing.ts';
import { cellKeys } from '../src/core/cell/keys.ts';
import type { Log } from '../src/ports/telemetry.ts';
import { armed } from '../src/runtime/faults/armed.ts';
import { failPointsOf } from '../src/runtime/faults/orders.ts';
import { abandonable } from '../src/runtime/wait/abandon.ts';
import { warmUpWhenIdle } from './warmup/idle-warmup.ts';
import type { SchedulerSettings } from './policies/options.ts';
import { compileOptions } from './policies/options.ts';
import { warmUpFirst } from './warmup/warmup.ts';
import { Scheduler } from './scheduler.ts';

export type { SchedulerSettings } from './policies/options.ts';

/** When to warm up: before the scheduler serves, when it is idle, or not at all. */
export type WarmUpTime = 'first' | 'idle' | 'never';

export interface SchedulerMainOptions extends SchedulerSettings {
  readonly cell: string;
  /** `http://127.0.0.1:2379`, one or several. */
  readonly etcd: readonly string[];
  /** Port 0: any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly reach?: Reach;
  readonly log: Log;
  /** See `warmup/`; without it, never. */
  readonly warmUp?: WarmUpTime;
}

export interface RunningScheduler {
  /** Base URL of its API. */
  readonly address: string;
  /** Ends its session and closes everything; within a few seconds. */
  stop(): Promise<void>;
  /** Rejects when it cannot continue; resolves after `stop`. */
  readonly ended: Promise<void>;
}

/** Requests of its API have no body. */
const BODY_BYTES_MAX = 16 * 1024;

/** Starts a scheduler on the machine it runs on. Resolves when its API serves. */
export async function runScheduler(options: SchedulerMainOptions): Promise<RunningScheduler> {
  const { log } = options;
  const credentials = options.reach?.credentials;
  const settings = compileOptions(options);
  const { abandon, or } = abandonable();
  const { store, http, server } = armed('scheduler', failPointsOf(systemFailures), {
    store: new EtcdCellStore({
      endpoints: options.etcd,
      credentials,
      clock: systemClock,
      log,
      onWrongServer: abandon,
    }),
    http: undiciClient({ credentials }),
    server: fastifyServer({ log, ...options.reach }),
  });
  const { id, cell } = options;
  const tracing = await openTracing({ role: 'scheduler', id, cell, log });
  const world = {
    ...{ store, keys: cellKeys(options.cell), http, clock: systemClock, random: systemRandom, log },
    ...{ metrics: promMetrics({ processMetrics: true }), digest: sha256Hex, ...tracing.ports },
  };
  const stopped = new AbortController();
  if (options.warmUp === 'first') await runWarmUp(options, null, stopped.signal);
  const scheduler = new Scheduler(world, settings);
  const listen = { ...options.listen, bodyBytesMax: BODY_BYTES_MAX };
  const address = await scheduler.start(server, listen);
  log.info({ address, kind: settings.kind, policy: settings.placement.name }, 'the scheduler listens');
  const warmedUp = options.warmUp === 'idle' ? runWarmUp(options, scheduler, stopped.signal) : null;
  return {
    address,
    ended: or(scheduler.ended),
    stop: async () => {
      stopped.abort();
      await scheduler.stop();
      await warmedUp;
      await http.close();
      await store.close();
      await tracing.close();
    },
  };
}

/**
 * A failed warm-up neither keeps the scheduler from starting nor ends it.
 * @param scheduler the one whose idle time is used; null: it does not serve yet
 */
async function runWarmUp(
  options: SchedulerMainOptions,
  scheduler: Scheduler | null,
  signal: AbortSignal,
): Promise<void> {
  const { log } = options;
  const startedMs = systemClock.monotonicMs();
  const world = {
    ...{ clock: systemClock, random: systemRandom, digest: sha256Hex },
    ...{ log: silentLog, metrics: silentMetrics },
  };
  const makeStore = (mayGoOn?: () => Promise<void>): WarmUpStore => new WarmUpStore(systemClock, mayGoOn);
  const parts = { settings: options, world, makeStore };
  try {
    const placed =
      scheduler === null
        ? await warmUpFirst(parts)
        : await warmUpWhenIdle(
            { ...parts, isBusy: () => scheduler.isBusy, committed: () => scheduler.committed },
            signal,
          );
    const tookMs = Math.round(systemClock.monotonicMs() - startedMs);
    if (placed > 0) log.info({ placed, tookMs }, 'warmed up');
  } catch (error) {
    log.warn({ error }, 'the warm-up failed: the first jobs are placed by code that is not compiled yet');
  }
}
