import { existsSync, readFileSync } from 'node:fs';
import type { EtcdCellStore } from '../src/adapters/etcd/etcd.ts';
import { dnsServer } from '../src/adapters/dns/dns.ts';
import { makeFolder } from '../src/adapters/disk/make-folder.ts';
import { openFileThread } from '../src/adapters/file-thread/file-thread.ts';
import type { Reach } from '../src/adapters/http/http.ts';
import { fastifyServer } from '../src/adapters/http/http.ts';
import { nodeClient } from '../src/adapters/http/node-client.ts';
import type { ShimProgram } from '../src/adapters/processes/processes.ts';
import { systemCommands } from '../src/adapters/processes/commands.ts';
import { linuxProcesses } from '../src/adapters/processes/processes.ts';
import { artifactSource } from '../src/adapters/disk/artifact-source.ts';
import { NO_CGROUPS } from '../src/adapters/processes/cgroups.ts';
import { deviceNode, machineAttributes, machineCapacity } from '../src/adapters/processes/machine.ts';
import { sha256Hex } from '../src/adapters/system/digest.ts';
import { systemNames } from '../src/adapters/system/names.ts';
import { builtFile } from '../src/adapters/system/package-files.ts';
import { systemProbes } from '../src/adapters/system/probes.ts';
import { systemClock, systemRandom } from '../src/adapters/system/system.ts';
import { systemFailures } from '../src/adapters/system/fail-points.ts';
import { secretOpener } from '../src/adapters/pki/host-key.ts';
import { delegationOpener } from '../src/adapters/pki/delegations.ts';
import { promMetrics } from '../src/adapters/telemetry/metrics.ts';
import { openTracing } from '../src/adapters/telemetry/tracing.ts';
import { readPinnedKeys } from '../src/adapters/tickets/key-files.ts';
import { ticketVerifier } from '../src/adapters/tickets/tickets.ts';
import type { Allowance } from '../src/core/host/allowances.ts';
import type { PortRange } from '../src/core/host/host.ts';
import { cellKeys } from '../src/core/cell/keys.ts';
import { VOLUME_WHOLE, volumeScalar } from '../src/core/cell/volume.ts';
import type { Resources } from '../src/core/cell/resources.ts';
import { ADDRESSES, shortOf } from '../src/core/cell/resources.ts';
import type { CellStore, StoreError } from '../src/ports/cell-store.ts';
import type { DnsAddress } from '../src/ports/dns.ts';
import type { TicketVerifier } from '../src/ports/crypto.ts';
import type { Log } from '../src/ports/telemetry.ts';
import { armed } from '../src/runtime/faults/armed.ts';
import { failPointsOf } from '../src/runtime/faults/orders.ts';
import type { Abandonable } from '../src/runtime/wait/abandon.ts';
import { abandonable } from '../src/runtime/wait/abandon.ts';
import type { HostFacts } from './agent.ts';
import { HostAgent } from './agent.ts';
import { AGENT_SETTINGS, ALIVE_TTL_MS, PORT_RANGE, reservedOf } from './defaults.ts';
import type { AgentSettings } from './agent-context.ts';
import type { OciRuntimeName } from './drivers/oci-runtime.ts';
import type { VolumeDriverCommand } from './volumes/volume-driver.ts';
import type { AnnouncedVolume } from './volumes/volumes.ts';
import { makeShimGroups } from './limits/shim-groups.ts';
import type { UserRange } from './leases/task-users.ts';
import type { AgentPorts } from './ports.ts';
import type { ControlPlaneDeps } from './network/control-plane.ts';
import { ControlPlane } from './network/control-plane.ts';
import { FetchSliceClient } from './artifacts/fetch-slice-client.ts';
import { HostNames, NAMES_KEPT_MS } from './names/host-names.ts';
import { HostPauses } from './tasks/held-restarts.ts';
import type { NetworkRules } from './network/network.ts';
import { Registrar } from './api/registration.ts';
import type { PeriodicTaskOptions } from './api/periodic-tasks.ts';
import { PERIODIC_TASKS, startPeriodicTasks } from './api/periodic-tasks.ts';
import { askEpoch } from './orders/epochs.ts';
import { askStore } from './orders/orderer.ts';
import type { HostRoutesOptions } from './api/api.ts';
import { hostChannels, hostRoutes, ORDERS_RIGHT } from './api/api.ts';

export interface AgentOptions {
  /** Name of the cell: all its keys lie under `/moorage/<cell>/`. */
  readonly cell: string;
  /** Addresses of the etcd members. Unused when `store` is given. */
  readonly etcd: readonly string[];
  /** This host's id, unique in the cell. */
  readonly id: string;
  /** Port 0: any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly log: Log;
  readonly version: string;
  /** Where all that must outlive the agent lies; made when it is missing. One agent for each. */
  readonly stateFolder: string;
  readonly reach?: Reach;
  /** Amounts to announce instead of what the machine has. */
  readonly capacity?: Partial<Resources>;
  /** Headroom instead of the default one. */
  readonly reserved?: Partial<Resources>;
  readonly gpuModels?: readonly string[];
  /** Paths below `/dev` of each GPU's nodes, in their order: a task opens those of its own, and no other's. Default: none. */
  readonly gpuNodes?: readonly (readonly string[])[];
  readonly portRange?: PortRange;
  /** Addresses of this machine to lend to tasks that claim some, by the scalar `addresses`. Default: none. */
  readonly addresses?: readonly string[];
  /** Where names of what runs are answered over DNS. Default: nowhere. */
  readonly dns?: DnsAddress;
  /** How long after the last word of a monitor names are told. Default an hour. */
  readonly namesKeptMs?: number;
  /** Besides os, arch, hostname, kernel and those of drivers and limits: zone, class. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** Start nothing without a ticket. Default true; then `pinnedKeysFile` is needed. */
  readonly requireTickets?: boolean;
  readonly pinnedKeysFile?: string;
  /** How long the host counts as alive after the store last heard of it. Default 10 s. */
  readonly aliveTtlMs?: number;
  /** So long after a start the one who ordered it may end it without a word of the store. Default a minute. */
  readonly ownStartMs?: number;
  /** When the agent is told to stop, tasks stop too. Default false: they run on, and the next agent takes them over. */
  readonly stopTasksOnExit?: boolean;
  /** Default: the compiled one where there is one, else the one in TypeScript. */
  readonly shim?: ShimProgram;
  /** What the source of an artifact must begin with. Default: any `https://` and `http://`, and no file. */
  readonly artifactSources?: readonly string[];
  /** Control group under which those of tasks are made, in each hierarchy. Default: the root. */
  readonly cgroupParent?: string;
  /** The only container runtime to use. Default: the first that works. */
  readonly ociRuntime?: OciRuntimeName;
  /** User ids for tasks, one for each allocation, that nobody else on this machine has. Default: a range far up. */
  readonly taskUids?: UserRange;
  /** As `taskUids`, for user namespaces of tasks: 65,536 for each allocation. */
  readonly taskIds?: UserRange;
  /** What tasks may ask beyond being strangers here. Default: what all hosts allow. */
  readonly allow?: readonly Allowance[];
  /** Folders of this machine to announce as volumes, by name. Default: none. */
  readonly volumes?: ReadonlyMap<string, AnnouncedVolume>;
  /** Programs that bring volumes of scope `global`, by name. Default: none. */
  readonly volumeDrivers?: ReadonlyMap<string, VolumeDriverCommand>;
  readonly settings?: Partial<AgentSettings>;
  readonly rounds?: Partial<PeriodicTaskOptions>;
  /** Instead of etcd. */
  readonly store?: CellStore;
}

export interface RunningAgent {
  /** Base URL of its API. */
  readonly address: string;
  readonly incarnation: number;
  /** Stops the agent; tasks only with `stopTasksOnExit`. */
  stop(): Promise<void>;
  /** Resolves when it has stopped; rejects when another store answers than before, as after a restore. */
  readonly ended: Promise<void>;
}

/** More is kept back of the host than it has. */
export class ReserveError extends Error {
  override readonly name = 'ReserveError';
}

/** What was announced as a device is none. */
export class DeviceError extends Error {
  override readonly name = 'DeviceError';
}

const ARTIFACT_SOURCES = ['https://', 'http://'];

/** A start request at its largest: 64 KiB of job, and the allocation. */
export const BODY_BYTES_MAX = 128 * 1024;
export const CLOSE_GRACE_MS = 1_000;
const STOP_ALL_MS = 8_000;
const OOM_SCORE_MAX = 1_000;

/**
 * Runs a host-agent on this machine. Resolves when it serves, and is registered if the store answers.
 * @throws StateFolderError, HostTakenError, KeyFileError
 */
export async function runAgent(options: AgentOptions): Promise<RunningAgent> {
  const { log } = options;
  const { abandon: giveUp, or } = abandonable();
  makeFolder(options.stateFolder, 0o700);
  const metrics = promMetrics({ processMetrics: true });
  const tracing = await openTracing({ role: 'host-agent', id: options.id, cell: options.cell, log });
  let own: HostAgent | null = null;
  const names = new HostNames({
    ...{ clock: systemClock, random: systemRandom, log, metrics },
    keptMs: options.namesKeptMs ?? NAMES_KEPT_MS,
    isOver: ({ host, allocation }) => host === options.id && own?.serves(allocation) === false,
  });
  const pauses = new HostPauses({ clock: systemClock, log });
  const shim = options.shim ?? findShim();
  const files = openFileThread(options.stateFolder);
  // Only the compiled shim can put a task into its groups before the task begins.
  const groups = shim.kind === 'native' ? files.cgroups : NO_CGROUPS;
  const shimGroups = await makeShimGroups(groups, log, options.cgroupParent ?? '');
  const { store: cellStore, members } = await storeOf(options, giveUp);
  const { store, http, server, disk, processes, cgroups, commands, artifacts, probes, verifier } = armed(
    'agent',
    failPointsOf(systemFailures),
    {
      store: cellStore,
      http: nodeClient(options.reach?.credentials),
      server: fastifyServer({ log, ...options.reach }),
      disk: files.disk,
      processes: linuxProcesses({ stateFolder: options.stateFolder, shim, shimGroups }),
      cgroups: groups,
      commands: systemCommands,
      artifacts: artifactSource({
        stateFolder: options.stateFolder,
        allowed: options.artifactSources ?? ARTIFACT_SOURCES,
      }),
      probes: systemProbes,
      verifier: await verifierOf(options),
    },
  );
  const fetches = new FetchSliceClient({ store, keys: cellKeys(options.cell), clock: systemClock, http });
  const ports: AgentPorts = {
    disk,
    processes,
    cgroups,
    commands,
    artifacts,
    probes,
    names: names.known,
    restarts: pauses.of(() => own?.host),
    fetchSlices: () => fetches.ask(own?.host.attributes ?? {}),
    ...(options.reach?.credentials === undefined ? {} : { epochs: askEpoch(store, cellKeys(options.cell)) }),
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    ...tracing.ports,
  };
  // As with groups: the plain shim would need a program between itself and the task.
  const oomScore = shim.kind === 'native' ? ownOomScore() : OOM_SCORE_MAX;
  const root = process.getuid?.() === 0 && shim.kind === 'native';
  const filters = shim.kind === 'native';
  const closers: (() => Promise<unknown> | void)[] = [
    () => ports.processes.close(),
    () => files.close(),
    () => tracing.close(),
  ];
  if (options.store === undefined) closers.unshift(() => store.close());
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0)) await close();
  };
  const { credentials } = options.reach ?? {};
  const openSecret = credentials === undefined ? null : secretOpener(credentials);
  const crypto = { verifier, digest: sha256Hex, ...(openSecret === null ? {} : { openSecret }) };
  try {
    closers.unshift(() => names.close());
    const dns = options.dns === undefined ? null : await names.answer(dnsServer, options.dns);
    const facts = await factsOf(options, dns === null ? {} : { dns });
    const settings = {
      ...{ oomScore, filters, ...settingsOf(options, root ? shim.path : null, dns) },
      ...(await nodesOf(options)),
    };
    const agent = await HostAgent.open(ports, facts, crypto, settings);
    own = agent;
    closers.unshift(() => agent.close());
    names.follow(store, cellKeys(options.cell), http);
    closers.unshift(() => pauses.close());
    closers.unshift(() => fetches.close());
    pauses.follow(store, cellKeys(options.cell), () => agent.rescan());
    const registrar = new Registrar(
      {
        store,
        keys: cellKeys(options.cell),
        clock: systemClock,
        random: systemRandom,
        log,
        aliveTtlMs: options.aliveTtlMs ?? ALIVE_TTL_MS,
      },
      [agent],
    );
    const served = { agent, ports, attemptsKept: settings.attemptsKept };
    const delegations = delegationChecks(options.reach);
    const routes = hostRoutes({
      prefix: '',
      find: () => served,
      ready: () => registrar.registered,
      ask: askStore(store, cellKeys(options.cell)),
      ...(options.ownStartMs === undefined ? {} : { ownStartMs: options.ownStartMs }),
      ...delegations,
      metrics,
    });
    const listener = await server.listen(routes, {
      ...options.listen,
      bodyBytesMax: BODY_BYTES_MAX,
      batchRight: ORDERS_RIGHT,
      channels: hostChannels({ prefix: '', find: () => served, ...delegations }),
    });
    closers.unshift(() => listener.close(CLOSE_GRACE_MS));
    agent.setAddress(listener.address);
    if (agent.network !== null)
      closers.unshift(followControlPlane(options, agent, agent.network, { store, members }));
    closers.unshift(() => registrar.close());
    await registrar.start();
    const rounds = { ...PERIODIC_TASKS, ...options.rounds };
    closers.unshift(startPeriodicTasks(systemClock, log, [agent], rounds, registrar));
    if (options.stopTasksOnExit === true)
      closers.unshift(() => agent.stopAll('the development cell stops', STOP_ALL_MS));
    const { host } = agent;
    log.info(
      { host: host.id, address: listener.address, incarnation: host.incarnation },
      'host-agent serves',
    );
    return running(listener.address, host.incarnation, closeAll, or);
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** What tasks are kept from is what the store says, and what was said to this agent. @returns ends it */
function followControlPlane(
  { cell, etcd, log }: AgentOptions,
  agent: HostAgent,
  rules: NetworkRules,
  from: Pick<ControlPlaneDeps, 'store' | 'members'>,
): () => void {
  const controlPlane = new ControlPlane({
    ...from,
    ...{ keys: cellKeys(cell), clock: systemClock, log, names: systemNames },
    fixed: () => [...etcd, agent.host.address],
    onChange: (endpoints) => rules.update(endpoints),
  });
  return () => controlPlane.close();
}

/** @returns with it, where its members are; of a store that was given nobody knows */
async function storeOf(
  options: AgentOptions,
  onWrongServer: (error: StoreError) => void,
): Promise<Pick<ControlPlaneDeps, 'store' | 'members'>> {
  if (options.store !== undefined) return { store: options.store, members: () => Promise.resolve([]) };
  const store = await etcdStore(options, onWrongServer);
  return { store, members: () => store.memberUrls() };
}

/** Loaded where it is needed: an agent with a store of its own comes up in two thirds of the time. */
async function etcdStore(
  { etcd, log, reach }: AgentOptions,
  onWrongServer: (error: StoreError) => void,
): Promise<EtcdCellStore> {
  const { EtcdCellStore } = await import('../src/adapters/etcd/etcd.ts');
  const credentials = reach?.credentials;
  return new EtcdCellStore({ endpoints: etcd, credentials, clock: systemClock, log, onWrongServer });
}

/** A role that runs until `stop`, or until it gives up. */
export function running(
  address: string,
  incarnation: number,
  close: () => Promise<void>,
  or: Abandonable['or'],
): RunningAgent {
  let finish: () => void = () => undefined;
  const ended = or(new Promise<void>((resolve) => (finish = resolve)));
  let stopping: Promise<void> | null = null;
  return { address, incarnation, ended, stop: () => (stopping ??= close().then(finish)) };
}

/** @throws KeyFileError; Error when tickets are required and no keys are pinned */
export async function verifierOf(
  options: Pick<AgentOptions, 'requireTickets' | 'pinnedKeysFile'>,
): Promise<TicketVerifier | null> {
  if (options.requireTickets === false) return null;
  if (options.pinnedKeysFile === undefined)
    throw new Error('a host that requires tickets needs the file of pinned arbiter keys');
  return ticketVerifier(await readPinnedKeys(options.pinnedKeysFile));
}

/** A host with credentials lets a monitor do inside tasks what somebody asked it for. */
export function delegationChecks(reach: Reach | undefined): Pick<HostRoutesOptions, 'delegations'> {
  const credentials = reach?.credentials;
  if (credentials === undefined) return {};
  const open = delegationOpener(credentials, () => systemClock.nowMs());
  return { delegations: { open, digest: sha256Hex } };
}

/** @param found attributes that nobody wrote */
async function factsOf(options: AgentOptions, found: Readonly<Record<string, string>>): Promise<HostFacts> {
  const amounts: Resources = { ...(await machineCapacity(options.stateFolder)), ...options.capacity };
  const { addresses = [], volumes = new Map<string, AnnouncedVolume>() } = options;
  const own = {
    ...(addresses.length === 0 ? {} : { [ADDRESSES]: addresses.length }),
    ...Object.fromEntries([...volumes.keys()].map((name) => [volumeScalar(name), VOLUME_WHOLE])),
  };
  const capacity: Resources =
    Object.keys(own).length === 0 ? amounts : { ...amounts, scalars: { ...amounts.scalars, ...own } };
  const reserved: Resources = { ...reservedOf(capacity), ...options.reserved };
  const short = shortOf(reserved, capacity);
  if (short !== null)
    throw new ReserveError(
      `the host reserves ${String(short.needed)} of ${short.dimension} and has ${String(short.available)}`,
    );
  return {
    id: options.id,
    address: '',
    capacity,
    reserved,
    gpuModels: options.gpuModels ?? [],
    portRange: options.portRange ?? PORT_RANGE,
    attributes: { ...machineAttributes(), ...found, ...options.attributes },
    agentVersion: options.version,
  };
}

/**
 * @param shim the compiled one, when tasks can be strangers
 * @param dns where names are answered
 */
function settingsOf(options: AgentOptions, shim: string | null, dns: string | null): AgentSettings {
  // A mark that the tests look for afterwards: what carries it and is still there was left behind.
  const ours = [...(shim === null ? ['PATH'] : []), 'MOORAGE_TEST_RUN'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const shown = dns === null ? {} : { MOORAGE_DNS: dns };
  const hostEnv = { ...AGENT_SETTINGS.hostEnv, ...Object.fromEntries(ours), ...shown };
  const { cgroupParent, ociRuntime, addresses = [], taskUids, taskIds, allow } = options;
  return {
    ...AGENT_SETTINGS,
    ...{ hostEnv, addresses },
    ...(cgroupParent === undefined ? {} : { cgroupParent }),
    ...(ociRuntime === undefined ? {} : { ociRuntimes: [ociRuntime] }),
    ...(taskUids === undefined ? {} : { taskUids }),
    ...(taskIds === undefined ? {} : { taskIds }),
    ...(allow === undefined ? {} : { allow }),
    ...(shim === null ? {} : { shim }),
    ...(options.volumes === undefined ? {} : { volumes: options.volumes }),
    ...(options.volumeDrivers === undefined ? {} : { volumeDrivers: options.volumeDrivers }),
    ...options.settings,
  };
}

/** @throws DeviceError */
async function nodesOf({ gpuNodes }: AgentOptions): Promise<Pick<AgentSettings, 'gpuNodes'>> {
  if (gpuNodes === undefined) return {};
  const found = gpuNodes.map((paths) =>
    Promise.all(
      paths.map(async (path) => {
        const node = path.startsWith('/dev/') ? await deviceNode(path) : null;
        if (node === null) throw new DeviceError(`${path} is no node of a device below /dev`);
        return node;
      }),
    ),
  );
  return { gpuNodes: await Promise.all(found) };
}

function ownOomScore(): number {
  try {
    return Number(readFileSync('/proc/self/oom_score_adj', 'utf8'));
  } catch {
    // A kernel that does not say has nothing to raise either.
    return OOM_SCORE_MAX;
  }
}

/** In the build's folder, also when the agent runs from its sources. */
function findShim(): ShimProgram {
  const native = builtFile('host-agent/native/moorage-shim');
  if (existsSync(native)) return { kind: 'native', path: native };
  const plain = builtFile('host-agent/shim/main.js');
  if (!existsSync(plain)) throw new Error('there is no shim: build the project first');
  return { kind: 'command', argv: [process.execPath, plain] };
}
