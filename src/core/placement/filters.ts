import type { HostSnapshot } from '../cell-state/cell-state.ts';
import type { Claim } from '../cell/claim.ts';
import type { Group } from '../cell/job.ts';
import { opposedText, opposedTo } from '../cell/interference.ts';
import type { GpuRequest, Shortfall } from '../cell/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';
import { fitShortfall } from '../fit/fit.ts';
import { chooseGpus, modelFits, NO_SHARES } from '../fit/gpu-choice.ts';
import type { Ledger } from '../fit/ledger.ts';
import { usedOf } from '../fit/ledger.ts';
import { choosePorts, NO_PORTS } from '../fit/port-choice.ts';
import { attributeOf, hasDriver, meets, plainAttribute } from '../host/attributes.ts';
import type { Host } from '../host/host.ts';
import { NO_CHANCE } from '../random/chance.ts';
import type { PlacementRequest } from './placement-request.ts';

/** Why one host does not take one allocation. */
export interface HostRefusal {
  readonly host: string;
  /** The filter that refused: one of `CHECKS`. */
  readonly check: string;
  readonly detail: string;
  readonly short?: Shortfall;
}

/** In the order in which they run: a host that fails a later one is a nearer miss. */
export const CHECKS = [
  'eligibility',
  'driver',
  'constraint',
  'distinct',
  'interference',
  'resources',
  'shared',
] as const;

/** The values that the group's allocations hold, by attribute of its `distinct`. */
export type HeldValues = ReadonlyMap<string, { has(value: string): boolean }>;

export function heldValues({ distinct }: Group, hosts: Iterable<Host>): HeldValues {
  const held = new Map(distinct.map((name) => [plainAttribute(name), new Set<string | undefined>()]));
  for (const host of hosts) for (const [name, values] of held) values.add(attributeOf(host, name));
  return held;
}

/** Why the host does not take one allocation of the request; null: it does. */
export function refusalOf(
  snapshot: HostSnapshot,
  request: PlacementRequest,
  held: HeldValues,
): HostRefusal | null {
  const { host } = snapshot;
  return (
    eligibilityRefusal(snapshot) ??
    driverRefusal(host) ??
    constraintRefusal(host, request.group) ??
    distinctRefusal(host, request.group, held) ??
    interferenceRefusal(snapshot, request) ??
    resourceRefusal(snapshot, request) ??
    sharedRefusal(snapshot, request)
  );
}

function eligibilityRefusal({ host, ledger, alive, paused }: HostSnapshot): HostRefusal | null {
  if (!alive) return { host: host.id, check: 'eligibility', detail: 'no sign of life' };
  if (ledger.state !== 'ready') return { host: host.id, check: 'eligibility', detail: ledger.state };
  return paused === null ? null : { host: host.id, check: 'eligibility', detail: `placement ${paused}` };
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

/** A host without the attribute shares its value with no other host: it takes any number of allocations. */
function distinctRefusal(host: Host, group: Group, held: HeldValues): HostRefusal | null {
  for (const attribute of group.distinct) {
    const name = plainAttribute(attribute);
    const value = attributeOf(host, name);
    if (value === undefined || held.get(name)?.has(value) !== true) continue;
    return { host: host.id, check: 'distinct', detail: `${name} ${value} already has one of the group` };
  }
  return null;
}

/** Resources say the same; told apart, since more of them would not help. */
function interferenceRefusal(
  { host, ledger, domains }: HostSnapshot,
  { ask }: PlacementRequest,
): HostRefusal | null {
  const { scalars } = ask.resources;
  const opposed = opposedTo(scalars);
  if (opposed.length === 0) return null;
  const refusal = (detail: string): HostRefusal => ({ host: host.id, check: 'interference', detail });
  const used = usedOf(ledger);
  const there = opposed.find((name) => (used.scalars[name] ?? 0) > 0);
  if (there !== undefined) return refusal(opposedText(there));
  const rule = domains.refusing(domains.rulesFor(scalars), host);
  if (rule === null) return null;
  const where = `${rule.attribute} ${attributeOf(host, rule.attribute) ?? ''}`;
  return refusal(
    rule.isAvoided
      ? `class ${rule.class} is avoided in ${where}`
      : `class ${rule.class}, which it avoids, is in ${where}`,
  );
}

function resourceRefusal({ host, ledger }: HostSnapshot, request: PlacementRequest): HostRefusal | null {
  const { ask, precedence } = request;
  const claim: Claim = {
    id: '',
    host: host.id,
    precedence,
    resources: ask.resources,
    gpus: NO_SHARES,
    ports: NO_PORTS,
  };
  const refusal = (detail: string, short: Shortfall): HostRefusal => ({
    host: host.id,
    check: 'resources',
    detail,
    short,
  });
  const short = fitShortfall(host, ledger, claim);
  if (short !== null) return refusal(shortText(short), short);
  const gpus = chooseGpus(host.gpuModels, ledger.gpuMilli, ask.gpu, 'fullest');
  if (gpus === null) {
    const gpuShort = gpuShortfall(host, ledger, ask.gpu);
    return refusal(shortText(gpuShort), gpuShort);
  }
  const chosen = choosePorts(ask.ports, host.portRange, new Set(ledger.ports), NO_CHANCE);
  if ('missing' in chosen) {
    const label = chosen.missing;
    const port = ask.ports[label] ?? 0;
    const detail = port === 0 ? `no free port for ${label}` : `port ${String(port)} for ${label} is taken`;
    return refusal(detail, { dimension: 'port', needed: port === 0 ? 1 : port, available: 0 });
  }
  const still = fitShortfall(host, ledger, { ...claim, gpus, ports: chosen.ports });
  if (still !== null) throw new Error(`chose ${still.dimension} on ${host.id} that is not free`);
  return null;
}

function gpuShortfall(host: Host, ledger: Ledger, request: GpuRequest | null): Shortfall {
  if (request === null) throw new Error('no GPUs were asked for');
  let available = 0;
  for (const [device, model] of host.gpuModels.entries()) {
    const free = GPU_MILLI_PER_DEVICE - (ledger.gpuMilli[device] ?? 0);
    if (modelFits(request, model)) available += Math.min(free, request.milliEach);
  }
  // A sum that would do may lie in parts that are too small: then only the number of devices is short.
  const needed = request.count * request.milliEach;
  return { dimension: 'gpu', needed, available: Math.min(available, needed - 1) };
}

/** The last filter: it tells of a host that has all else which pool it waits for. */
function sharedRefusal({ host, pools }: HostSnapshot, { ask }: PlacementRequest): HostRefusal | null {
  const refusal = pools.refusalOn(host, ask.shared);
  return refusal === null ? null : { host: host.id, check: 'shared', ...refusal };
}

/** `lacks 300Mi memory (needs 512Mi, 212Mi free)`. */
export function shortText({ dimension, needed, available }: Shortfall): string {
  const unit = UNITS[dimension] ?? '';
  const amount = (n: number): string => `${String(n)}${unit}`;
  return `lacks ${amount(needed - available)} ${dimension} (needs ${amount(needed)}, ${amount(available)} free)`;
}

const UNITS: Readonly<Record<string, string>> = { cpu: 'm', memory: 'Mi', disk: 'Mi', gpu: 'm' };
