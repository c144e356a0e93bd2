import { EtcdCellStore } from '../src/adapters/etcd/etcd.ts';
import type { Reach } from '../src/adapters/http/http.ts';
import { fastifyServer } from '../src/adapters/http/http.ts';
import { MemoryDisk } from '../src/adapters/memory/disk.ts';
import { HollowProcesses } from '../src/adapters/memory/processes.ts';
import { sha256Hex } from '../src/adapters/system/digest.ts';
import { systemClock, systemRandom } from '../src/adapters/system/system.ts';
import { promMetrics } from '../src/adapters/telemetry/metrics.ts';
import type { PortRange } from '../src/core/host/host.ts';
import { openTracing } from '../src/adapters/telemetry/tracing.ts';
import { cellKeys } from '../src/core/cell/keys.ts';
import type { Resources } from '../src/core/cell/resources.ts';
import { NO_RESOURCES } from '../src/core/cell/resources.ts';
import type { CellStore } from '../src/ports/cell-store.ts';
import type { RouteRequest } from '../src/ports/http.ts';
import type { Log, Metrics } from '../src/ports/telemetry.ts';
import { abandonable } from '../src/runtime/wait/abandon.ts';
import { HostAgent } from './agent.ts';
import { AGENT_SETTINGS, ALIVE_TTL_MS, PORT_RANGE } from './defaults.ts';
import type { RunningAgent } from './main.ts';
import { BODY_BYTES_MAX, CLOSE_GRACE_MS, delegationChecks, running, verifierOf } from './main.ts';
import { Registrar } from './api/registration.ts';
import { PERIODIC_TASKS, startPeriodicTasks } from './api/periodic-tasks.ts';
import type { Served } from './api/api.ts';
import { askEpoch } from './orders/epochs.ts';
import { askStore } from './orders/orderer.ts';
import { hostChannels, hostRoutes, ORDERS_RIGHT } from './api/api.ts';
import type { AgentPorts } from './ports.ts';
import { HostPauses } from './tasks/held-restarts.ts';

/** A host that runs nothing: its tasks only take time, as their `HOLLOW_RUN_MS` says (0 or absent: until stopped). */
export interface HollowHost {
  readonly id: string;
  readonly capacity: Resources;
  /** Default: nothing. */
  readonly reserved?: Resources;
  readonly gpuModels?: readonly string[];
  readonly portRange?: PortRange;
  readonly attributes?: Readonly<Record<string, string>>;
}

export interface HollowOptions {
  readonly cell: string;
  /** Addresses of the etcd members. Unused when `store` is given. */
  readonly etcd: readonly string[];
  readonly listen: { readonly host: string; readonly port: number };
  readonly reach?: Reach;
  readonly log: Log;
  readonly version: string;
  readonly hosts: readonly HollowHost[];
  readonly requireTickets?: boolean;
  readonly pinnedKeysFile?: string;
  readonly aliveTtlMs?: number;
  /** How often each host says that it is there; the monitors must be as patient. */
  readonly beatMs?: number;
  readonly store?: CellStore;
}

/** Every monitor holds a stream to every host. */
const CONNECTIONS_MAX = 65_536;
/** Nothing is ever lost in memory, so a look at everything is only needed in principle. */
const HOLLOW_ROUNDS = {
  ...PERIODIC_TASKS,
  rescanMs: 60_000,
  recordTimeMs: 3600_000,
  diskMs: 60_000,
  leaksMs: 3600_000,
};

/**
 * Serves many host-agents from one process: the same routes, checks, reports and life of allocations as a real one, each
 * host under `<address>/hosts/<id>`, all alive under one session. They forget everything when the process ends.
 */
export async function runHollow(options: HollowOptions): Promise<RunningAgent> {
  const { log } = options;
  const metrics = promMetrics({ processMetrics: true });
  const [id = 'hollow'] = options.hosts.map((host) => host.id);
  const tracing = await openTracing({ role: 'host-agent', id, cell: options.cell, log });
  const verifier = await verifierOf(options);
  const pauses = new HostPauses({ clock: systemClock, log });
  const { abandon: giveUp, or } = abandonable();
  const { etcd: endpoints, reach } = options;
  const credentials = reach?.credentials;
  const store =
    options.store ??
    new EtcdCellStore({ endpoints, credentials, clock: systemClock, log, onWrongServer: giveUp });
  const epochs = credentials === undefined ? {} : { epochs: askEpoch(store, cellKeys(options.cell)) };
  const served = new Map<string, Served>();
  for (const host of options.hosts)
    served.set(
      host.id,
      await openHollow(host, { options, metrics, verifier, pauses, epochs, traced: tracing.ports }),
    );
  const agents = [...served.values()].map((one) => one.agent);
  const registrar = new Registrar(
    {
      store,
      keys: cellKeys(options.cell),
      clock: systemClock,
      random: systemRandom,
      log,
      aliveTtlMs: options.aliveTtlMs ?? ALIVE_TTL_MS,
    },
    agents,
  );
  const found = {
    prefix: '/hosts/:host',
    find: (request: RouteRequest) => served.get(request.params['host'] ?? ''),
  };
  const delegations = delegationChecks(options.reach);
  const routes = hostRoutes({
    ...found,
    ready: () => registrar.registered,
    ask: askStore(store, cellKeys(options.cell)),
    ...delegations,
    metrics,
  });
  const server = fastifyServer({ log, connectionsMax: CONNECTIONS_MAX, ...options.reach });
  const listener = await server.listen(routes, {
    ...options.listen,
    bodyBytesMax: BODY_BYTES_MAX,
    batchRight: ORDERS_RIGHT,
    channels: hostChannels({ ...found, ...delegations }),
  });
  for (const agent of agents) agent.setAddress(`${listener.address}/hosts/${agent.host.id}`);
  let endRounds = (): void => undefined;
  const close = async (): Promise<void> => {
    endRounds();
    pauses.close();
    await registrar.close();
    await listener.close(CLOSE_GRACE_MS);
    await Promise.all(agents.map((agent) => agent.close()));
    if (options.store === undefined) await store.close();
    await tracing.close();
  };
  try {
    await registrar.start();
  } catch (error) {
    await close();
    throw error;
  }
  pauses.follow(store, cellKeys(options.cell), () => agents.forEach((agent) => agent.rescan()));
  const rounds = { ...HOLLOW_ROUNDS, beatMs: options.beatMs ?? HOLLOW_ROUNDS.beatMs };
  endRounds = startPeriodicTasks(systemClock, log, agents, rounds, registrar);
  log.info({ hosts: agents.length, address: listener.address }, 'hollow hosts serve');
  return running(listener.address, 0, close, or);
}

interface Shared {
  readonly options: HollowOptions;
  readonly metrics: Metrics;
  readonly verifier: Awaited<ReturnType<typeof verifierOf>>;
  readonly pauses: HostPauses;
  readonly epochs: Pick<AgentPorts, 'epochs'>;
  readonly traced: Pick<AgentPorts, 'tracer'>;
}

async function openHollow(host: HollowHost, shared: Shared): Promise<Served> {
  const disk = new MemoryDisk();
  let own: HostAgent | null = null;
  const ports = {
    disk,
    processes: new HollowProcesses({ disk, clock: systemClock }),
    clock: systemClock,
    random: systemRandom,
    log: shared.options.log,
    metrics: shared.metrics,
    restarts: shared.pauses.of(() => own?.host),
    ...shared.epochs,
    ...shared.traced,
  };
  const facts = {
    id: host.id,
    address: '',
    capacity: host.capacity,
    reserved: host.reserved ?? NO_RESOURCES,
    gpuModels: host.gpuModels ?? [],
    portRange: host.portRange ?? PORT_RANGE,
    attributes: { os: 'linux', 'driver.exec': 'true', hollow: 'true', ...host.attributes },
    agentVersion: shared.options.version,
  };
  const crypto = { verifier: shared.verifier, digest: sha256Hex };
  const agent = await HostAgent.open(ports, facts, crypto, AGENT_SETTINGS);
  own = agent;
  return { agent, ports, attemptsKept: AGENT_SETTINGS.attemptsKept };
}
