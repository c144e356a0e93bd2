import { isEmpty } from '../cell-state/host-slot.ts';
import type { Chance } from '../random/chance.ts';
import { NO_CHANCE } from '../random/chance.ts';
import type { Claim } from '../cell/claim.ts';
import { chooseGpus } from '../fit/gpu-choice.ts';
import type { Host } from '../host/host.ts';
import { allocatable } from '../host/host.ts';
import type { Ledger } from '../fit/ledger.ts';
import { fitShortfall } from '../fit/fit.ts';
import { holdsUse, withoutUse } from '../fit/ledger.ts';
import type { Placement, PlacementRequest } from '../placement/placement-request.ts';
import { choosePorts, NO_PORTS } from '../fit/port-choice.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

/** The victims, and the place that they make. */
export interface VictimChoice<T extends Claim> {
  /** Lowest precedence first. At least one. */
  readonly victims: readonly T[];
  readonly placement: Placement;
}

/**
 * The victims on one host for one allocation of the request: of lower precedence, the lowest first, then as few and as
 * small as possible. None of them can be spared.
 *
 * @param ledger as known, with the scheduler's claims in flight
 * @param running the host's allocations; ignored are those of equal or higher precedence, and those that the ledger no
 *   longer holds
 * @returns null when it does not fit even without all of them, or fits with all of them
 */
export function chooseVictims<T extends Claim>(
  host: Host,
  ledger: Ledger,
  request: PlacementRequest,
  running: readonly T[],
  chance: Chance,
): VictimChoice<T> | null {
  const order = running
    .filter((claim) => claim.precedence < request.precedence && holdsUse(ledger, claim))
    .map((claim) => ({ claim, size: sizeOn(host, claim) }))
    .sort((a, b) => a.claim.precedence - b.claim.precedence || a.size - b.size);
  const fits = (left: Ledger): boolean => placeOn(host, left, request, NO_CHANCE) !== null;
  if (fits(ledger)) return null;
  const chosen: Sized<T>[] = [];
  let left = ledger;
  while (!fits(left)) {
    const next = nextVictim(order, left, fits);
    if (next === null) return null;
    // An old ledger may hold each of them, but not all together.
    if (!holdsUse(left, next.claim)) continue;
    chosen.push(next);
    left = withoutUse(left, next.claim);
  }
  const victims = withoutNeedless(ledger, chosen, fits).map(({ claim }) => claim);
  const placement = placeOn(host, victims.reduce(withoutUse, ledger), request, chance);
  if (placement === null) throw new Error(`the victims on ${host.id} do not free enough`);
  return { victims, placement };
}

interface Sized<T extends Claim> {
  readonly claim: T;
  /** The part of the host that it uses. */
  readonly size: number;
}

/** Do both use the same of the host, and of no device? What their ports are makes no difference: these stay held. */
function isSameUse(a: Claim, b: Claim): boolean {
  const [one, other] = [a.resources, b.resources];
  if (one.cpuMilli !== other.cpuMilli || one.memoryMib !== other.memoryMib) return false;
  if (one.diskMib !== other.diskMib || a.gpus.length + b.gpus.length > 0) return false;
  return isEmpty(one.scalars) && isEmpty(other.scalars);
}

/**
 * Takes the next victim out of `order`: of the lowest precedence left, the smallest one that is enough by itself, or else
 * the largest.
 */
function nextVictim<T extends Claim>(
  order: Sized<T>[],
  left: Ledger,
  fits: (ledger: Ledger) => boolean,
): Sized<T> | null {
  const lowest = order[0]?.claim.precedence;
  if (lowest === undefined) return null;
  let end = 0;
  while (end < order.length && order[end]?.claim.precedence === lowest) end += 1;
  // Size is a sum over dimensions, and a larger one may be too small in one of them: each is tried, of equal ones the first.
  let tried: T | null = null;
  for (let at = 0; at < end; at++) {
    const { claim } = order[at]!;
    if (tried !== null && isSameUse(tried, claim)) continue;
    if (holdsUse(left, claim) && fits(withoutUse(left, claim))) return order.splice(at, 1)[0] ?? null;
    tried = claim;
  }
  return order.splice(end - 1, 1)[0] ?? null;
}

/** Spares victims that later choices made needless: the highest precedence first, then the largest. */
function withoutNeedless<T extends Claim>(
  ledger: Ledger,
  chosen: readonly Sized<T>[],
  fits: (ledger: Ledger) => boolean,
): Sized<T>[] {
  let kept = [...chosen].sort((a, b) => a.claim.precedence - b.claim.precedence || a.size - b.size);
  for (const one of [...kept].reverse()) {
    const fewer = kept.filter((other) => other !== one);
    if (fits(fewer.reduce((left, { claim }) => withoutUse(left, claim), ledger))) kept = fewer;
  }
  return kept;
}

/** A place for one allocation of the request on the host; null: none. */
export function placeOn(
  host: Host,
  ledger: Ledger,
  request: PlacementRequest,
  chance: Chance,
): Placement | null {
  const { ask, precedence } = request;
  const gpus = chooseGpus(host.gpuModels, ledger.gpuMilli, ask.gpu, 'fullest');
  if (gpus === null) return null;
  const claim = { id: '', host: host.id, precedence, resources: ask.resources, gpus, ports: NO_PORTS };
  if (fitShortfall(host, ledger, claim) !== null) return null;
  if (isEmpty(ask.ports)) return { host: host.id, gpus, ports: NO_PORTS };
  const chosen = choosePorts(ask.ports, host.portRange, new Set(ledger.ports), chance);
  return 'missing' in chosen ? null : { host: host.id, gpus, ports: chosen.ports };
}

function sizeOn(host: Host, { resources, gpus }: Claim): number {
  const whole = allocatable(host);
  const part = (used: number, all: number): number => (all <= 0 ? 0 : used / all);
  const gpuMilli = gpus.reduce((sum, { milli }) => sum + milli, 0);
  return (
    part(resources.cpuMilli, whole.cpuMilli) +
    part(resources.memoryMib, whole.memoryMib) +
    part(gpuMilli, host.gpuModels.length * GPU_MILLI_PER_DEVICE)
  );
}
