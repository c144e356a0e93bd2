import { Arbiter } from '../../arbiter/arbiter.ts';
import { arbiterRoutes } from '../../arbiter/routes.ts';
import type { FencingOptions } from '../../monitor/hosts/fencing.ts';
import { Monitor } from '../../monitor/monitor.ts';
import type { ReaperLimits } from '../../monitor/reaper/reaper-limits.ts';
import type { SchedulerSettings } from '../../schedulers/policies/options.ts';
import { compileOptions } from '../../schedulers/policies/options.ts';
import { Scheduler } from '../../schedulers/scheduler.ts';
import { silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import { TICKET_REQUEST_BYTES_MAX } from '../../src/wire/api/arbiter-api.ts';
import type { Life } from '../agenda/life.ts';
import { Actor } from './actor.ts';
import { digest } from './digest.ts';
import type { Environment } from './environment.ts';
import type { PowerFences } from './power-fences.ts';
import { FENCE } from './power-fences.ts';
import { rolePorts } from './role-ports.ts';
import { simSigner } from './tickets.ts';

/** The same wiring as in each role's `main.ts`, on the simulated world's ports. */

const LISTEN = { host: '127.0.0.1', port: 0 };
const SCHEDULER_BODY_BYTES_MAX = 16 * 1024;
export const CELL = 'sim';
const VERSION = '0';
/** After so long another monitor asks. */
const FENCE_TIMEOUT_MS = 3_000;

export function schedulerActor(environment: Environment, settings: SchedulerSettings): Actor {
  return new Actor(environment, {
    name: settings.id,
    role: 'scheduler',
    boot: async (life, failed) => {
      const { server, store, http, clock, random, log } = rolePorts(environment, life, failed);
      const scheduler = new Scheduler(
        {
          ...{ store, keys: environment.keys, http, clock, random, log },
          ...{ metrics: silentMetrics, digest },
        },
        compileOptions(settings),
      );
      await scheduler.start(server, { ...LISTEN, bodyBytesMax: SCHEDULER_BODY_BYTES_MAX });
      scheduler.ended.catch(failed);
    },
  });
}

/** @param fences its program for hosts that are lost; null: it has none. @param onUp is given the monitor of each life */
export function monitorActor(
  environment: Environment,
  id: string,
  { fences, reaper }: { readonly fences: PowerFences | null; readonly reaper: Partial<ReaperLimits> },
  onUp: (monitor: Monitor) => void,
): Actor {
  return new Actor(environment, {
    name: id,
    role: 'monitor',
    boot: async (life, failed) => {
      const { server, store, http, clock, random, log } = rolePorts(environment, life, failed);
      const monitor = new Monitor({
        ...{ cell: CELL, id, version: VERSION, listen: LISTEN, store, http, server },
        ...{ clock, random, log, metrics: silentMetrics, digest },
        reaper,
        ...(fences === null ? {} : { fencing: fencingBy(fences, life.life) }),
      });
      onUp(monitor);
      await monitor.start();
    },
  });
}

function fencingBy(fences: PowerFences, life: Life): FencingOptions {
  return {
    programs: new Map([[FENCE, FENCE]]),
    commands: fences.commandsOf(life),
    timeoutMs: FENCE_TIMEOUT_MS,
  };
}

export function arbiterActor(environment: Environment, id: string, sessionTtlMs: number): Actor {
  return new Actor(environment, {
    name: id,
    role: 'arbiter',
    boot: async (life, failed) => {
      const { server, store, http, clock, random, log } = rolePorts(environment, life, failed);
      const arbiter = new Arbiter({
        ...{ store, keys: environment.keys, http, clock, random, log, metrics: silentMetrics },
        signer: simSigner(id, environment.history, () => clock.nowMs()),
        record: { kind: 'arbiter', id, version: VERSION, policy: '', startedAtMs: clock.nowMs() },
        options: { sessionTtlMs },
      });
      const listener = await server.listen(arbiterRoutes(arbiter, { metrics: silentMetrics, log }), {
        ...LISTEN,
        bodyBytesMax: TICKET_REQUEST_BYTES_MAX,
      });
      const { ended } = await arbiter.start(listener.address);
      ended.catch(failed);
    },
  });
}
