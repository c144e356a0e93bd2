import { EtcdCellStore } from '../src/adapters/etcd/cell-store.ts';
import { RehearsalStore } from '../src/adapters/etcd/rehearsal-store.ts';
import { undiciClient } from '../src/adapters/http/client.ts';
import { fastifyServer } from '../src/adapters/http/server.ts';
import { systemClock } from '../src/adapters/system/clock.ts';
import { sha256Hex } from '../src/adapters/system/digest.ts';
import { systemFailures } from '../src/adapters/system/fail-points.ts';
import { systemRandom } from '../src/adapters/system/random.ts';
import { promMetrics } from '../src/adapters/telemetry/metrics.ts';
import { silentLog, silentMetrics } from '../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../src/core/keys.ts';
import type { Log } from '../src/ports/telemetry.ts';
import { armed } from '../src/runtime/faults/armed.ts';
import { failPointsOf } from '../src/runtime/faults/orders.ts';
import { givingUp } from '../src/runtime/giving-up.ts';
import type { SchedulerSettings } from './options.ts';
import { compileOptions } from './options.ts';
import { rehearse } from './rehearsal.ts';
import { Scheduler } from './scheduler.ts';

export type { SchedulerSettings } from './options.ts';

export interface SchedulerMainOptions extends SchedulerSettings {
  readonly cell: string;
  /** `http://127.0.0.1:2379`, one or several. */
  readonly etcd: readonly string[];
  /** Port 0: any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly log: Log;
  /** Have the code compiled by jobs of no account before the first real one comes. */
  readonly rehearse?: boolean;
}

export interface RunningScheduler {
  /** Base URL of its API. */
  readonly address: string;
  /** Hands its jobs over and closes everything; within a few seconds. */
  stop(): Promise<void>;
  /** Rejects when it cannot go on; resolves after `stop`. */
  readonly ended: Promise<void>;
}

/** Questions have no body worth the name. */
const BODY_BYTES_MAX = 16 * 1024;

/** Starts a scheduler on the machine it runs on. Resolves when its API serves. */
export async function runScheduler(options: SchedulerMainOptions): Promise<RunningScheduler> {
  const { log } = options;
  const settings = compileOptions(options);
  const { giveUp, or } = givingUp();
  const { store, http, server } = armed('scheduler', failPointsOf(systemFailures), {
    store: new EtcdCellStore({ endpoints: options.etcd, clock: systemClock, log, onWrongServer: giveUp }),
    http: undiciClient(),
    server: fastifyServer({ log }),
  });
  const world = {
    ...{ store, keys: cellKeys(options.cell), http, clock: systemClock, random: systemRandom, log },
    ...{ metrics: promMetrics({ processMetrics: true }), digest: sha256Hex },
  };
  if (options.rehearse === true) await rehearseFor(options);
  const scheduler = new Scheduler(world, settings);
  const listen = { ...options.listen, bodyBytesMax: BODY_BYTES_MAX };
  const address = await scheduler.start(server, listen);
  log.info({ address, kind: settings.kind, policy: settings.placement.name }, 'the scheduler listens');
  return {
    address,
    ended: or(scheduler.ended),
    stop: async () => {
      await scheduler.stop();
      await http.close();
      await store.close();
    },
  };
}

/** What goes wrong in it is no reason not to begin. */
async function rehearseFor(options: SchedulerMainOptions): Promise<void> {
  const { log } = options;
  const startedMs = systemClock.monotonicMs();
  const world = {
    ...{ clock: systemClock, random: systemRandom, digest: sha256Hex },
    ...{ log: silentLog, metrics: silentMetrics },
  };
  try {
    const makeStore = (): RehearsalStore => new RehearsalStore(systemClock);
    const placed = await rehearse({ settings: options, makeStore, world });
    log.info({ placed, tookMs: Math.round(systemClock.monotonicMs() - startedMs) }, 'rehearsed');
  } catch (error) {
    log.warn({ error }, 'the rehearsal failed: the first jobs will be placed by code that is not compiled');
  }
}
