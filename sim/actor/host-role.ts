import { HostAgent } from '../../host-agent/agent.ts';
import { AGENT_SETTINGS, PORT_RANGE } from '../../host-agent/defaults.ts';
import { Registrar } from '../../host-agent/api/registration.ts';
import { PERIODIC_TASKS, startPeriodicTasks } from '../../host-agent/api/periodic-tasks.ts';
import { hostRoutes } from '../../host-agent/api/api.ts';
import { HostNames, NAMES_KEPT_MS } from '../../host-agent/names/host-names.ts';
import type { KnownNames } from '../../host-agent/names/names.ts';
import { silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import type { Resources } from '../../src/core/cell/resources.ts';
import { NO_RESOURCES } from '../../src/core/cell/resources.ts';
import type { Machine } from '../machine/machine.ts';
import type { SharedStorage } from '../machine/shared-storage.ts';
import { VOLUME_DRIVERS } from '../machine/shared-storage.ts';
import { SimDisk } from '../machine/sim-disk.ts';
import { SimProcesses } from '../machine/sim-processes.ts';
import { Actor } from './actor.ts';
import { digest } from './digest.ts';
import type { Environment } from './environment.ts';
import { recordOrders } from './order-recorder.ts';
import { rolePorts } from './role-ports.ts';
import { simVerifier } from './tickets.ts';

/** A start request at its largest. */
const BODY_BYTES_MAX = 128 * 1024;

/** A few lines in a file, and a few files: after some seconds the oldest output is dropped. */
const LOG_BOUNDS = { segmentBytes: 160, segmentsMax: 3 };

export interface HostActorParts {
  readonly machine: Machine;
  readonly capacity: Resources;
  readonly gpuModels: readonly string[];
  /** Its own, to lend to tasks. */
  readonly addresses: readonly string[];
  readonly enforcement: boolean;
  readonly aliveTtlMs: number;
  /** Names that something on this host asks for all the time; null: its agent follows none. */
  readonly names: readonly string[] | null;
  /** Whose data it brings to tasks; null: it keeps no volumes. */
  readonly storage: SharedStorage | null;
  /** Is given the agent of each life, and what it knows of names. */
  readonly onUp: (agent: HostAgent, known: KnownNames | null) => void;
}

/** Two hosts share a rack. */
function rackOf(host: string): string {
  return `r${String(Math.floor(Number(host.slice(host.lastIndexOf('-') + 1)) / 2))}`;
}

/** A host-agent on its machine, wired as in `host-agent/main.ts`. */
export function hostActor(environment: Environment, parts: HostActorParts): Actor {
  const { machine } = parts;
  return new Actor(environment, {
    name: machine.host,
    role: 'agent',
    time: machine.time,
    mayStart: () => !machine.life.ended,
    boot: async (ports, failed) => {
      const { life, store, server, http, clock, random, log } = rolePorts(environment, ports, failed);
      let own: HostAgent | null = null;
      const names =
        parts.names === null
          ? null
          : new HostNames({
              ...{ clock, random, log, metrics: silentMetrics, keptMs: NAMES_KEPT_MS },
              isOver: ({ host, allocation }) => host === machine.host && own?.serves(allocation) === false,
            });
      const agentPorts = {
        ...{ disk: new SimDisk(machine, life), processes: new SimProcesses(machine, life) },
        ...{ clock, random, log, metrics: silentMetrics },
        ...(names === null ? {} : { names: names.known }),
        ...(parts.storage === null ? {} : { commands: parts.storage.commandsOf(machine, life) }),
      };
      const facts = {
        ...{ id: machine.host, address: '', capacity: parts.capacity, reserved: NO_RESOURCES },
        gpuModels: parts.gpuModels,
        ...{
          portRange: PORT_RANGE,
          attributes: { os: 'linux', rack: rackOf(machine.host) },
          agentVersion: '0',
        },
      };
      const crypto = { verifier: parts.enforcement ? simVerifier : null, digest };
      const drivers = parts.storage === null ? {} : { volumeDrivers: VOLUME_DRIVERS };
      const settings = { ...AGENT_SETTINGS, addresses: parts.addresses, logBounds: LOG_BOUNDS, ...drivers };
      const agent = await HostAgent.open(agentPorts, facts, crypto, settings);
      own = agent;
      parts.onUp(agent, names?.known ?? null);
      const { keys } = environment;
      names?.follow(store, keys, http);
      for (const name of parts.names ?? []) names?.known.pin(name);
      const registrar = new Registrar({ store, keys, clock, random, log, aliveTtlMs: parts.aliveTtlMs }, [
        agent,
      ]);
      const served = { agent, ports: agentPorts, attemptsKept: AGENT_SETTINGS.attemptsKept };
      const routes = hostRoutes({
        prefix: '',
        find: () => served,
        ready: () => registrar.registered,
        metrics: silentMetrics,
      });
      const recorded = recordOrders({ machine, history: environment.history, agent, clock }, routes);
      const listener = await server.listen(recorded, { host: '', port: 0, bodyBytesMax: BODY_BYTES_MAX });
      agent.setAddress(listener.address);
      startPeriodicTasks(clock, log, [agent], PERIODIC_TASKS, registrar);
      await registrar.start();
    },
  });
}
