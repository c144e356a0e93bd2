import type { Chance } from '../random/chance.ts';
import type { Claim } from '../cell/claim.ts';
import { attributeOf, hasDriver, meets, plainAttribute } from '../host/attributes.ts';
import { chooseGpus, NO_SHARES } from '../fit/gpu-choice.ts';
import type { DeviceOrder } from '../fit/gpu-choice.ts';
import type { Host } from '../host/host.ts';
import type { Group } from '../cell/job.ts';
import type { Ledger } from '../fit/ledger.ts';
import { fitShortfall } from '../fit/fit.ts';
import type { Placement, PlacementRequest } from './placement-request.ts';
import { choosePorts, NO_PORTS } from '../fit/port-choice.ts';
import type { GpuRequest, Shortfall } from '../cell/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';
import { modelFits } from '../fit/gpu-choice.ts';
import type { HostSnapshot } from '../cell-state/cell-state.ts';

/** Why one host does not take one allocation. */
export interface HostRefusal {
  readonly host: string;
  /** The check that refused: one of `CHECKS`. */
  readonly check: string;
  readonly detail: string;
  readonly short?: Shortfall;
}

/** In the order in which they are asked: whoever fails late is the nearer miss. */
export const CHECKS = ['eligibility', 'driver', 'constraint', 'distinct', 'resources', 'shared'] as const;

/** What the group holds already, by host; values of `distinct` attributes in use. */
export interface Held {
  /** Allocations of the group by host id. */
  readonly byHost: ReadonlyMap<string, number>;
  /** For each `distinct` and `spread` attribute: allocations of the group by the host's value. */
  readonly byValue: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** For each `spread` of the group: the parts of its values (`spreadShares`); null: even. */
  readonly shares?: readonly (ReadonlyMap<string, number> | null)[];
}

/** The place on this host, or why there is none. The plain walk, `explain` and the tests ask this one function. */
export function tryHost(
  view: HostSnapshot,
  request: PlacementRequest,
  held: Held,
  order: DeviceOrder,
  chance: Chance,
): Placement | HostRefusal {
  const { host } = view;
  return (
    eligibilityRefusal(view) ??
    driverRefusal(host) ??
    constraintRefusal(host, request.group) ??
    distinctRefusal(host, request.group, held) ??
    sharedOrPlace(view, request, resourcesOrPlace(view, request, order, chance))
  );
}

export function isRefusal(result: Placement | HostRefusal): result is HostRefusal {
  return 'check' in result;
}

function eligibilityRefusal({ host, ledger, alive }: HostSnapshot): HostRefusal | null {
  if (!alive) return { host: host.id, check: 'eligibility', detail: 'no sign of life' };
  if (ledger.state === 'ready') return null;
  return { host: host.id, check: 'eligibility', detail: ledger.state };
}

function driverRefusal(host: Host): HostRefusal | null {
  return hasDriver(host) ? null : { host: host.id, check: 'driver', detail: 'driver exec is not available' };
}

function constraintRefusal(host: Host, group: Group): HostRefusal | null {
  const failed = group.constraints.find((expression) => !meets(host, expression));
  if (failed === undefined) return null;
  const have = attributeOf(host, failed.attribute);
  const detail = `${failed.text}: ${have === undefined ? 'not set' : `is ${have}`}`;
  return { host: host.id, check: 'constraint', detail };
}

/** A host without the attribute shares no value with anybody, so it is free to take one allocation after another. */
function distinctRefusal(host: Host, group: Group, held: Held): HostRefusal | null {
  for (const attribute of group.distinct) {
    const name = plainAttribute(attribute);
    const value = attributeOf(host, name);
    const count = value === undefined ? 0 : (held.byValue.get(name)?.get(value) ?? 0);
    if (count === 0) continue;
    return {
      host: host.id,
      check: 'distinct',
      detail: `${name} ${value ?? ''} already has one of the group`,
    };
  }
  return null;
}

/** Of what hosts share: asked last, since it says of a host that has all else what it waits for. */
function sharedOrPlace(
  { host, pools }: HostSnapshot,
  { ask }: PlacementRequest,
  result: Placement | HostRefusal,
): Placement | HostRefusal {
  if (ask.shared === undefined || isRefusal(result)) return result;
  const refusal = pools.refusalOn(host, ask.shared);
  return refusal === null ? result : { host: host.id, check: 'shared', ...refusal };
}

function resourcesOrPlace(
  { host, ledger }: HostSnapshot,
  request: PlacementRequest,
  order: DeviceOrder,
  chance: Chance,
): Placement | HostRefusal {
  const { ask } = request;
  const claim: Claim = {
    id: '',
    host: host.id,
    precedence: request.precedence,
    resources: ask.resources,
    gpus: NO_SHARES,
    ports: NO_PORTS,
  };
  const short = fitShortfall(host, ledger, claim);
  if (short !== null) return resourceRefusal(host, short);
  const gpus = chooseGpus(host.gpuModels, ledger.gpuMilli, ask.gpu, order);
  if (gpus === null) return resourceRefusal(host, gpuShortfall(host, ledger, ask.gpu));
  const chosen = choosePorts(ask.ports, host.portRange, new Set(ledger.ports), chance);
  if ('missing' in chosen) return portRefusal(host, chosen.missing, ask.ports[chosen.missing] ?? 0);
  const place = { host: host.id, gpus, ports: chosen.ports };
  const still = fitShortfall(host, ledger, { ...claim, ...place });
  if (still !== null) throw new Error(`chose ${still.dimension} on ${host.id} that is not free`);
  return place;
}

function gpuShortfall(host: Host, ledger: Ledger, request: GpuRequest | null): Shortfall {
  if (request === null) throw new Error('no GPUs were asked for');
  let available = 0;
  for (const [device, model] of host.gpuModels.entries()) {
    const free = GPU_MILLI_PER_DEVICE - (ledger.gpuMilli[device] ?? 0);
    if (modelFits(request, model)) available += Math.min(free, request.milliEach);
  }
  // Devices are bins of their own: a sum that would do may lie in parts too small, and then only the count is short.
  const needed = request.count * request.milliEach;
  return { dimension: 'gpu', needed, available: Math.min(available, needed - 1) };
}

function resourceRefusal(host: Host, short: Shortfall): HostRefusal {
  return { host: host.id, check: 'resources', detail: shortText(short), short };
}

function portRefusal(host: Host, label: string, port: number): HostRefusal {
  const detail = port === 0 ? `no free port for ${label}` : `port ${String(port)} for ${label} is taken`;
  return {
    host: host.id,
    check: 'resources',
    detail,
    short: { dimension: 'port', needed: port === 0 ? 1 : port, available: 0 },
  };
}

/** `lacks 300Mi memory (needs 512Mi, 212Mi free)`. */
export function shortText({ dimension, needed, available }: Shortfall): string {
  const unit = UNITS[dimension] ?? '';
  const amount = (n: number): string => `${String(n)}${unit}`;
  return `lacks ${amount(needed - available)} ${dimension} (needs ${amount(needed)}, ${amount(available)} free)`;
}

const UNITS: Readonly<Record<string, string>> = { cpu: 'm', memory: 'Mi', disk: 'Mi', gpu: 'm' };
