/**
 * The fit rule: does a claim fit on a host, given its ledger? A scheduler's guess, the rebase of a commit and the host's
 * admission call this one function, so they cannot disagree. Beside it:
 *
 * - `ledger.ts`: what is given away of one host, and how a claim changes that
 * - `gpu-choice.ts`: which devices serve a request
 * - `port-choice.ts`: which ports do
 */
import type { Claim } from '../cell/claim.ts';
import type { Resources, Shortfall } from '../cell/resources.ts';
import { GPU_MILLI_PER_DEVICE, NO_SCALARS, shortOf } from '../cell/resources.ts';
import type { Host } from '../host/host.ts';
import type { Ledger } from './ledger.ts';
import { freeOf, hasPorts } from './ledger.ts';

/** @returns the first short dimension: the host's state, then cpu, memory, disk, scalars, gpu, ports; null when it fits */
export function fitShortfall(host: Host, ledger: Ledger, claim: Claim): Shortfall | null {
  if (ledger.state !== 'ready') return { dimension: ledger.state, needed: 1, available: 0 };
  if (!plainlyFits(host, ledger, claim.resources)) {
    const short = shortOf(claim.resources, freeOf(host, ledger));
    if (short !== null) return short;
  }
  for (const share of claim.gpus) {
    const exists = share.device < host.gpuModels.length;
    const available = exists ? GPU_MILLI_PER_DEVICE - (ledger.gpuMilli[share.device] ?? 0) : 0;
    if (share.milli > available) return { dimension: 'gpu', needed: share.milli, available };
  }
  return portShortfall(host, ledger, claim);
}

/** The usual amounts, without an object for each sum: this runs for every placement. */
function plainlyFits({ capacity, reserved }: Host, { bands }: Ledger, asked: Resources): boolean {
  if (asked.scalars !== NO_SCALARS) return false;
  let cpuMilli = capacity.cpuMilli - reserved.cpuMilli - asked.cpuMilli;
  let memoryMib = capacity.memoryMib - reserved.memoryMib - asked.memoryMib;
  let diskMib = capacity.diskMib - reserved.diskMib - asked.diskMib;
  for (const band of bands) {
    cpuMilli -= band.cpuMilli;
    memoryMib -= band.memoryMib;
    diskMib -= band.diskMib;
  }
  return cpuMilli >= 0 && memoryMib >= 0 && diskMib >= 0;
}

function portShortfall(host: Host, ledger: Ledger, claim: Claim): Shortfall | null {
  if (!hasPorts(claim)) return null;
  const wanted = Object.values(claim.ports);
  for (const [position, port] of wanted.entries()) {
    const outside = port < host.portRange.first || port > host.portRange.last;
    if (outside || ledger.ports.includes(port) || wanted.indexOf(port) !== position)
      return { dimension: 'port', needed: port, available: 0 };
  }
  return null;
}
