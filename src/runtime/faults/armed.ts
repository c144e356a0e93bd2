import type { CellStore } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { ArtifactSource } from '../../ports/artifacts.ts';
import { FetchError } from '../../ports/artifacts.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import { CgroupError } from '../../ports/cgroups.ts';
import type { Commands } from '../../ports/commands.ts';
import type { TicketSigner, TicketVerifier } from '../../ports/crypto.ts';
import type { Disk } from '../../ports/disk.ts';
import { DiskError } from '../../ports/disk.ts';
import type { HttpClient, HttpServer } from '../../ports/http.ts';
import type { Processes, ShimLink } from '../../ports/process.ts';
import type { Probes } from '../../ports/probes.ts';
import { ProbeError } from '../../ports/probes.ts';
import { ProcessError } from '../../ports/process.ts';
import type { StoreUpkeep } from '../../ports/store-upkeep.ts';
import { armedClient, armedServer } from './armed-http.ts';
import { armedStore } from './armed-store.ts';
import type { FailPoints, FailRole, FaultOf } from './faults.ts';
import { around, Deliveries } from './faults.ts';
import { subjectOfPath } from './subjects.ts';

/** The ports through which a role does I/O. Clock, randomness, log and metrics are none. */
export interface IoPorts {
  readonly store: CellStore;
  readonly upkeep: StoreUpkeep;
  readonly http: HttpClient;
  readonly server: HttpServer;
  readonly disk: Disk;
  readonly processes: Processes;
  readonly cgroups: Cgroups;
  readonly commands: Commands;
  readonly artifacts: ArtifactSource;
  readonly probes: Probes;
  readonly signer: TicketSigner;
  readonly verifier: TicketVerifier | null;
}

type SomePorts = Partial<IoPorts>;
type Same<P> = { readonly [K in keyof P]: K extends keyof IoPorts ? IoPorts[K] : P[K] };

/** The same ports, with a fail-point before and after each of their I/Os; the very same ones without `points`. */
export function armed<P extends SomePorts>(role: FailRole, points: FailPoints | null, ports: P): Same<P> {
  if (points === null) return ports as unknown as Same<P>;
  const wrapped: Record<string, unknown> = { ...ports };
  const { store, upkeep, http, server, disk, processes, cgroups, commands, artifacts } = ports;
  const { probes, signer, verifier } = ports;
  if (store !== undefined) wrapped['store'] = armedStore(`${role}/store`, points, store);
  if (upkeep !== undefined)
    wrapped['upkeep'] = armedPlain(`${role}/upkeep`, 'database', points, upkeep, away);
  if (http !== undefined) wrapped['http'] = armedClient(`${role}/http`, points, http);
  if (server !== undefined) wrapped['server'] = armedServer(`${role}/server`, points, server);
  if (disk !== undefined) wrapped['disk'] = armedDisk(`${role}/disk`, points, disk);
  if (processes !== undefined) wrapped['processes'] = armedProcesses(`${role}/processes`, points, processes);
  if (cgroups !== undefined) wrapped['cgroups'] = armedCgroups(`${role}/cgroups`, points, cgroups);
  if (commands !== undefined)
    wrapped['commands'] = armedPlain(`${role}/commands`, 'program', points, commands);
  if (artifacts !== undefined)
    wrapped['artifacts'] = armedPlain(`${role}/artifacts`, 'artifact', points, artifacts, unreachable);
  if (probes !== undefined)
    wrapped['probes'] = armedPlain(`${role}/probes`, 'service', points, probes, unasked);
  if (signer !== undefined) wrapped['signer'] = armedPlain(`${role}/signer`, 'ticket', points, signer);
  if (verifier !== undefined && verifier !== null)
    wrapped['verifier'] = armedPlain(`${role}/verifier`, 'ticket', points, verifier);
  return wrapped as Same<P>;
}

function armedDisk(port: string, points: FailPoints, disk: Disk): Disk {
  const fault: FaultOf = (when, name) => new DiskError('io', `fail-point ${name}:${when}`);
  const nameOf = (method: string, path: unknown): string =>
    `${port}.${method}/${subjectOfPath(typeof path === 'string' ? path : '')}`;
  return everyMethod(disk, {
    call: (method, args, go) => around(points, nameOf(method, args[0]), fault, go),
    tell: (method, args) => new Deliveries(points, nameOf(method, args[0])),
    tells: new Set(['watch']),
    // It only computes a path.
    quiet: new Set(['absolute']),
  });
}

/** What a method of the process port is about; all others are about an attempt. */
const PROCESS_SUBJECTS: Readonly<Record<string, string>> = {
  isAlive: 'process',
  portsInUse: 'ports',
  addressesInUse: 'addresses',
  close: 'all',
};

function armedProcesses(port: string, points: FailPoints, processes: Processes): Processes {
  const fault: FaultOf = (when, name) => new ProcessError(`fail-point ${name}:${when}`);
  const nameOf = (method: string): string => `${port}.${method}/${PROCESS_SUBJECTS[method] ?? 'attempt'}`;
  return everyMethod(processes, {
    call: async (method, _, go) => {
      const answer = await around(points, nameOf(method), fault, go);
      const isLink = method === 'open' && answer !== null && answer !== undefined;
      return isLink
        ? armedLink(port.replace('processes', 'link'), points, fault, answer as ShimLink)
        : answer;
    },
    tell: (method) => new Deliveries(points, nameOf(method)),
    tells: new Set(['onEvent']),
  });
}

function armedLink(port: string, points: FailPoints, fault: FaultOf, link: ShimLink): ShimLink {
  return everyMethod(link, {
    call: (method, _, go) => around(points, `${port}.${method}/shim`, fault, go),
    tell: (method) => new Deliveries(points, `${port}.${method}/shim`),
    tells: new Set(),
    quiet: new Set(['close']),
  });
}

/** What a method of the cgroup port is about; all others are about a group. */
const CGROUP_SUBJECTS: Readonly<Record<string, string>> = {
  mounts: 'all',
  read: 'file',
  write: 'file',
  deviceOf: 'folder',
  pressure: 'all',
};

function armedCgroups(port: string, points: FailPoints, cgroups: Cgroups): Cgroups {
  const fault: FaultOf = (when, name) => new CgroupError('refused', `fail-point ${name}:${when}`);
  const nameOf = (method: string): string => `${port}.${method}/${CGROUP_SUBJECTS[method] ?? 'group'}`;
  return everyMethod(cgroups, {
    call: (method, _, go) => around(points, nameOf(method), fault, go),
    tell: (method) => new Deliveries(points, nameOf(method)),
    tells: new Set(),
  });
}

const failed: FaultOf = (when, name) => new Error(`fail-point ${name}:${when}`);
const away: FaultOf = (when, name) =>
  new StoreError('unavailable', `fail-point ${name}:${when}`, { retryable: true });
const unasked: FaultOf = (when, name) => new ProbeError(`fail-point ${name}:${when}`);
const unreachable: FaultOf = (when, name) => new FetchError('unreachable', `fail-point ${name}:${when}`);

/** A port whose methods are all about one kind of thing. */
function armedPlain<P extends object>(
  port: string,
  subject: string,
  points: FailPoints,
  target: P,
  fault: FaultOf = failed,
): P {
  return everyMethod(target, {
    call: (method, _, go) => around(points, `${port}.${method}/${subject}`, fault, go),
    tell: (method) => new Deliveries(points, `${port}.${method}/${subject}`),
    tells: new Set(),
  });
}

interface Wrapping {
  call(method: string, args: readonly unknown[], go: () => Promise<unknown>): Promise<unknown>;
  tell(method: string, args: readonly unknown[]): Deliveries;
  /** Methods whose last argument is a listener. */
  readonly tells: ReadonlySet<string>;
  /** Methods that do no I/O: they are passed on as they are. */
  readonly quiet?: ReadonlySet<string>;
}

type Method = (...args: unknown[]) => unknown;

/** Wraps all methods of a port, also those that it may get later. */
function everyMethod<P extends object>(target: P, wrapping: Wrapping): P {
  return new Proxy(target, {
    get(_, property): unknown {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const run = (args: readonly unknown[]): unknown => (value as Method).apply(target, [...args]);
      if (typeof property === 'symbol' || wrapping.quiet?.has(property) === true)
        return (...args: unknown[]) => run(args);
      if (wrapping.tells.has(property))
        return (...args: unknown[]) => run(throughDeliveries(args, wrapping.tell(property, args)));
      return (...args: unknown[]) => wrapping.call(property, args, () => run(args) as Promise<unknown>);
    },
  });
}

/** A hint that fails is a hint that is lost. */
function throughDeliveries(args: readonly unknown[], deliveries: Deliveries): readonly unknown[] {
  const listener = args.at(-1) as (...news: unknown[]) => void;
  const lost = (): void => undefined;
  return [...args.slice(0, -1), (...news: unknown[]) => deliveries.give(() => listener(...news), lost)];
}
