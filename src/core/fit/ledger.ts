import type { Claim } from '../cell/claim.ts';
import { SURPLUS_PRECEDENCE } from '../cell/claim.ts';
import type { EligibilityState, Host } from '../host/host.ts';
import { allocatable } from '../host/host.ts';
import type { Resources } from '../cell/resources.ts';
import { addResources, hasNegative, isZero, NO_RESOURCES, subtractResources } from '../cell/resources.ts';

/**
 * What is given away of one host: all that a scheduler must read to place there, and what a commit compares. It equals
 * the sum of the host's live allocations, because both change in one transaction. An allocation that is being evicted no
 * longer counts in `bands` and `gpuMilli`, since its place is given away, but holds its ports until its release.
 */
export interface Ledger {
  /** The host's eligibility, written here with its own record, so that no commit can miss it. */
  readonly state: EligibilityState;
  /** The counter of the fencing epoch, from the eligibility record. */
  readonly counter: number;
  /**
   * What each precedence uses, lowest first; one that uses nothing is absent. A list, since V8 walks an object with
   * numbers as names twenty times as slowly.
   */
  readonly bands: readonly Band[];
  /** Thousandths used by device index; shorter than the host's list when the rest is free. */
  readonly gpuMilli: readonly number[];
  /** Ports in use, ascending. */
  readonly ports: readonly number[];
}

/** What one precedence holds of a host. */
export interface Band extends Resources {
  readonly precedence: number;
}

export const EMPTY_LEDGER: Ledger = Object.freeze({
  state: 'ready',
  counter: 0,
  bands: Object.freeze([]),
  gpuMilli: Object.freeze([]),
  ports: Object.freeze([]),
});

/** The bands with one of them changed; null: removed. Lists are made without spare capacity: every host has one. */
function withBand(bands: Ledger['bands'], precedence: number, held: Resources | null): Ledger['bands'] {
  let place = 0;
  while (place < bands.length && bands[place]!.precedence < precedence) place += 1;
  const isThere = bands[place]?.precedence === precedence;
  const rest = bands.slice(isThere ? place + 1 : place);
  if (held === null) return bands.slice(0, place).concat(rest);
  const band = bandOf(precedence, held);
  return place + rest.length === 0 ? [band] : bands.slice(0, place).concat([band], rest);
}

export function bandOf(precedence: number, { cpuMilli, memoryMib, diskMib, scalars }: Resources): Band {
  return { precedence, cpuMilli, memoryMib, diskMib, scalars };
}

function bandAt(bands: Ledger['bands'], precedence: number): Band | undefined {
  for (const band of bands) if (band.precedence === precedence) return band;
  return undefined;
}

/** The sum over all bands. */
export function usedOf(ledger: Ledger): Resources {
  let sum = NO_RESOURCES;
  for (const band of ledger.bands) sum = addResources(sum, band);
  return sum;
}

export function freeOf(host: Host, ledger: Ledger): Resources {
  return subtractResources(allocatable(host), usedOf(ledger));
}

/** What would be free if no elastic group had more than its minimum there: for everybody else, surplus is free. */
export function freeWithoutSurplus(host: Host, ledger: Ledger): Resources {
  const surplus = ledger.bands[0];
  const free = freeOf(host, ledger);
  return surplus?.precedence === SURPLUS_PRECEDENCE ? addResources(free, surplus) : free;
}

/** The ledger with the claim added, whether it fits or not. */
export function withClaim(ledger: Ledger, claim: Claim): Ledger {
  const band = bandAt(ledger.bands, claim.precedence) ?? NO_RESOURCES;
  return {
    ...ledger,
    bands: withBand(ledger.bands, claim.precedence, addResources(band, claim.resources)),
    gpuMilli: addShares(ledger.gpuMilli, claim, 1),
    ports: hasPorts(claim) ? withPorts(ledger.ports, Object.values(claim.ports)) : ledger.ports,
  };
}

/**
 * The ledger without the claim.
 * @throws when that would leave less than nothing: the claim was not in the ledger
 */
export function withoutClaim(ledger: Ledger, claim: Claim): Ledger {
  return withoutPorts(withoutUse(ledger, claim), claim);
}

/** Does the ledger hold at least what the claim uses? */
export function holdsUse(ledger: Ledger, claim: Claim): boolean {
  const { resources } = claim;
  const band = bandAt(ledger.bands, claim.precedence);
  const enough =
    resources.cpuMilli <= (band?.cpuMilli ?? 0) &&
    resources.memoryMib <= (band?.memoryMib ?? 0) &&
    resources.diskMib <= (band?.diskMib ?? 0);
  if (!enough) return false;
  for (const name in resources.scalars) {
    if ((resources.scalars[name] as number) > (band?.scalars[name] ?? 0)) return false;
  }
  return claim.gpus.every((share) => share.milli <= (ledger.gpuMilli[share.device] ?? 0));
}

/** The ledger without the claim's use; its ports stay held. @throws when the ledger does not hold the use */
export function withoutUse(ledger: Ledger, claim: Claim): Ledger {
  const band = subtractResources(bandAt(ledger.bands, claim.precedence) ?? NO_RESOURCES, claim.resources);
  if (hasNegative(band)) throw new Error(`allocation ${claim.id} is not in the ledger of ${claim.host}`);
  const bands = withBand(ledger.bands, claim.precedence, isZero(band) ? null : band);
  return { ...ledger, bands, gpuMilli: addShares(ledger.gpuMilli, claim, -1) };
}

/** The ledger without the claim's ports: the rest of an evicted claim. */
export function withoutPorts(ledger: Ledger, claim: Claim): Ledger {
  if (!hasPorts(claim)) return ledger;
  const gone = Object.values(claim.ports);
  return { ...ledger, ports: ledger.ports.filter((port) => !gone.includes(port)) };
}

function addShares(used: readonly number[], claim: Claim, sign: 1 | -1): readonly number[] {
  if (claim.gpus.length === 0) return used;
  const result = [...used];
  for (const share of claim.gpus) {
    while (result.length <= share.device) result.push(0);
    const sum = (result[share.device] ?? 0) + sign * share.milli;
    if (sum < 0) throw new Error(`allocation ${claim.id} is not in the ledger of ${claim.host}`);
    result[share.device] = sum;
  }
  // One spelling for equal ledgers: no trailing zeros.
  while (result.length > 0 && result[result.length - 1] === 0) result.pop();
  return result;
}

function withPorts(ports: readonly number[], more: readonly number[]): readonly number[] {
  return [...ports, ...more].sort((a, b) => a - b);
}

export function hasPorts(claim: Claim): boolean {
  for (const _label in claim.ports) return true;
  return false;
}
