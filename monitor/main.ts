import { EtcdCellStore } from '../src/adapters/etcd/etcd.ts';
import { EtcdUpkeep } from '../src/adapters/etcd/upkeep.ts';
import { webSocketClient } from '../src/adapters/http/channel-client.ts';
import { undiciClient } from '../src/adapters/http/client.ts';
import type { Reach } from '../src/adapters/http/http.ts';
import { CONNECTIONS_MAX, fastifyServer } from '../src/adapters/http/http.ts';
import { JoseOpenIdTokens } from '../src/adapters/openid/openid.ts';
import { hostKeyCertificate } from '../src/adapters/pki/host-key.ts';
import { delegationSigner } from '../src/adapters/pki/delegations.ts';
import { cleanCommands } from '../src/adapters/processes/clean-commands.ts';
import { divideOpenFiles, openFilesLimit } from '../src/adapters/system/open-files.ts';
import { sha256Hex } from '../src/adapters/system/digest.ts';
import { builtFile } from '../src/adapters/system/package-files.ts';
import { readPageFiles } from '../src/adapters/system/page-files.ts';
import { systemClock, systemRandom } from '../src/adapters/system/system.ts';
import { systemFailures } from '../src/adapters/system/fail-points.ts';
import { promMetrics } from '../src/adapters/telemetry/metrics.ts';
import { openTracing } from '../src/adapters/telemetry/tracing.ts';
import { armed } from '../src/runtime/faults/armed.ts';
import { failPointsOf } from '../src/runtime/faults/orders.ts';
import { abandonable } from '../src/runtime/wait/abandon.ts';
import { untilAborted } from '../src/runtime/wait/wait.ts';
import { FENCE_TIMEOUT_MS } from './hosts/fencing.ts';
import type { MonitorDeps } from './monitor.ts';
import { Monitor } from './monitor.ts';
import type { ReaperLimits } from './reaper/reaper-limits.ts';
import { HISTORY_KEPT_MS, STORE_QUOTA_BYTES } from './store/store.ts';

export interface MonitorOptions extends Pick<
  MonitorDeps,
  | 'cell'
  | 'id'
  | 'version'
  | 'listen'
  | 'log'
  | 'lostAfterMs'
  | 'massLossWaitMs'
  | 'silenceMs'
  | 'alarmAfterMs'
> {
  readonly etcd: readonly string[];
  readonly reach?: Reach;
  /** What the reaper keeps, and how long; what is not named has its default. */
  readonly reaper?: Partial<ReaperLimits>;
  /** How long the store's history is kept before it is compacted; null: for ever. Default 10 min. */
  readonly historyKeptMs?: number | null;
  /** The quota of the store's servers. Default 2 GiB, etcd's own. */
  readonly storeQuotaBytes?: number;
  /** Programs that fence lost hosts, by the name that jobs use. Default: none. */
  readonly fences?: ReadonlyMap<string, string>;
  /** Default 30 s. */
  readonly fenceTimeoutMs?: number;
}

export interface RunningMonitor {
  readonly address: string;
  /** Ends streams, takes the registration back, closes everything; within a few seconds. */
  stop(): Promise<void>;
  /** Resolves when it has stopped; rejects when another store answers than before, as after a restore. */
  readonly ended: Promise<void>;
}

/** Each host has a stream of its own, and thousands of hollow hosts share one address. */
const HOSTS_PER_PEER_MAX = 65_536;

/** Starts a monitor on this machine. Resolves when it serves. */
export async function runMonitor(options: MonitorOptions): Promise<RunningMonitor> {
  const { cell, id, listen, version, log, lostAfterMs, massLossWaitMs, silenceMs, alarmAfterMs } = options;
  const credentials = options.reach?.credentials;
  const { limit, hostsMax, callersMax } = divideOpenFiles(openFilesLimit());
  const stopped = new AbortController();
  const { abandon, or } = abandonable();
  const { store, http, server, upkeep, commands } = armed('monitor', failPointsOf(systemFailures), {
    store: new EtcdCellStore({
      endpoints: options.etcd,
      credentials,
      clock: systemClock,
      log,
      onWrongServer: abandon,
    }),
    upkeep: new EtcdUpkeep({ endpoints: options.etcd, credentials }),
    commands: cleanCommands,
    http: undiciClient({ connectionsPerPeerMax: HOSTS_PER_PEER_MAX, credentials }),
    server: fastifyServer({ log, connectionsMax: Math.min(CONNECTIONS_MAX, callersMax), ...options.reach }),
  });
  const metrics = promMetrics({ processMetrics: true });
  const tracing = await openTracing({ role: 'monitor', id, cell, log });
  metrics.gauge('moorage_monitor_hosts_max', hostsMax);
  const monitor = new Monitor({
    ...{ cell, id, listen, version, log, store, http, server },
    channels: webSocketClient(credentials),
    ...(credentials === undefined ? {} : { openid: new JoseOpenIdTokens({ clock: systemClock, log }) }),
    ...(credentials === undefined
      ? {}
      : { delegate: delegationSigner(credentials), hostKey: () => hostKeyCertificate(credentials) }),
    upkeep: {
      store: upkeep,
      options: {
        historyKeptMs: options.historyKeptMs === undefined ? HISTORY_KEPT_MS : options.historyKeptMs,
        quotaBytes: options.storeQuotaBytes ?? STORE_QUOTA_BYTES,
      },
    },
    clock: systemClock,
    random: systemRandom,
    metrics,
    ...tracing.ports,
    hostsMax,
    digest: sha256Hex,
    page: readPageFiles(builtFile('page')),
    ...(lostAfterMs === undefined ? {} : { lostAfterMs }),
    ...(massLossWaitMs === undefined ? {} : { massLossWaitMs }),
    ...(silenceMs === undefined ? {} : { silenceMs }),
    ...(alarmAfterMs === undefined ? {} : { alarmAfterMs }),
    ...(options.reaper === undefined ? {} : { reaper: options.reaper }),
    ...(options.fences === undefined
      ? {}
      : {
          fencing: {
            ...{ programs: options.fences, commands },
            timeoutMs: options.fenceTimeoutMs ?? FENCE_TIMEOUT_MS,
          },
        }),
  });
  const listener = await monitor.start();
  log.info({ address: listener.address, cell, openFiles: limit, hostsMax }, 'monitor serves');
  let stopping: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    await monitor.close();
    await Promise.all([store.close(), http.close(), tracing.close()]);
    stopped.abort();
  };
  return {
    address: listener.address,
    stop: () => (stopping ??= stop()),
    ended: or(untilAborted(stopped.signal)),
  };
}
