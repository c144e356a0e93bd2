/**
 * Who holds what: resources, devices, ports and addresses of hosts, pools and quotas.
 *
 * - This file: per host, the allocations fit and are what the ledger says (I1, I2, I3). `pools.ts`: the same for shared resources.
 * - `neighbours.ts`: what avoids each other shares no host (I74)
 * - `quotas.ts`: per namespace (I9); `host-usage.ts`: what really runs on a host fits (I1, I2)
 * - `released.ts`: nothing returns to the cell while it is in use (I45, I47); `address-reuse.ts`: the address that is free longest is lent first (I45)
 */
import type { Allocation } from '../../../src/core/cell/allocation.ts';
import type { Host } from '../../../src/core/host/host.ts';
import { allocatable } from '../../../src/core/host/host.ts';
import type { Ledger } from '../../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, usedOf } from '../../../src/core/fit/ledger.ts';
import type { Resources } from '../../../src/core/cell/resources.ts';
import {
  addResources,
  GPU_MILLI_PER_DEVICE,
  NO_RESOURCES,
  shortOf,
} from '../../../src/core/cell/resources.ts';
import { checkNeighbours } from './neighbours.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I1, I2, I3 and I74, host by host: the allocations fit, share no port and no device beyond its whole, and their sum is the ledger.
 * The sums are computed from the allocations, not with the ledger's own arithmetic, so that a mistake in that shows here.
 */
export class HostResourceChecker {
  readonly #live = new Map<string, Map<string, Allocation>>();
  /** The last registration of each host: a commit may follow right after the host left. */
  readonly #hosts = new Map<string, Host>();

  check(step: Step, cell: CellAt, findings: Findings): void {
    for (const { name, after } of step.changed.hosts) if (after !== undefined) this.#hosts.set(name, after);
    const touched = new Set(step.changed.ledgers.map(({ name }) => name));
    const grown = new Set<string>();
    for (const { before, after } of step.changed.allocations) {
      if (before !== undefined) this.#live.get(before.host)?.delete(before.id);
      if (after !== undefined) this.#liveOn(after.host).set(after.id, after);
      if (before !== undefined) touched.add(before.host);
      if (after !== undefined) touched.add(after.host);
      if (after !== undefined && before === undefined) grown.add(after.host);
    }
    for (const host of touched) {
      const live = [...(this.#live.get(host)?.values() ?? [])];
      const sums = sumOf(live);
      if (grown.has(host)) this.#checkFit(step.revision, host, sums, findings);
      checkPorts(step.revision, host, live, findings);
      checkNeighbours(step.revision, host, live, findings);
      checkLedger(step.revision, host, sums, cell.ledgers.get(host), findings);
    }
  }

  #liveOn(host: string): Map<string, Allocation> {
    let live = this.#live.get(host);
    if (live === undefined) this.#live.set(host, (live = new Map<string, Allocation>()));
    return live;
  }

  /** Only where an allocation was added: a host may come back with less capacity. */
  #checkFit(revision: number, id: string, sums: Sums, findings: Findings): void {
    const host = this.#hosts.get(id);
    if (host === undefined) {
      findings.add('I1', revision, id, 'an allocation on a host that never registered');
      return;
    }
    const short = shortOf(sums.used, allocatable(host));
    if (short !== null)
      findings.add(
        'I1',
        revision,
        id,
        `${short.dimension}: ${String(short.needed)} given away of ${String(short.available)}`,
      );
    for (const [device, milli] of sums.gpuMilli)
      if (milli > GPU_MILLI_PER_DEVICE || device >= host.gpuModels.length)
        findings.add('I1', revision, id, `gpu ${String(device)}: ${String(milli)} given away`);
  }
}

interface Sums {
  readonly bands: ReadonlyMap<number, Resources>;
  readonly used: Resources;
  readonly gpuMilli: ReadonlyMap<number, number>;
  readonly ports: readonly number[];
}

function sumOf(live: readonly Allocation[]): Sums {
  const bands = new Map<number, Resources>();
  const gpuMilli = new Map<number, number>();
  let used = NO_RESOURCES;
  const ports: number[] = [];
  for (const allocation of live) {
    ports.push(...Object.values(allocation.ports));
    // A preempted allocation keeps its ports, and what it needs to be taken back; the rest is given away.
    const has = allocation.desired === 'evict' ? allocation.yields?.keeps : allocation;
    if (has === undefined) continue;
    const { precedence } = allocation;
    const { resources, gpus } = has;
    used = addResources(used, resources);
    bands.set(precedence, addResources(bands.get(precedence) ?? NO_RESOURCES, resources));
    for (const { device, milli } of gpus) gpuMilli.set(device, (gpuMilli.get(device) ?? 0) + milli);
  }
  return { bands, used, gpuMilli, ports: ports.sort((a, b) => a - b) };
}

function checkPorts(revision: number, host: string, live: readonly Allocation[], findings: Findings): void {
  const holders = new Map<number, string>();
  for (const { id, ports } of live) {
    for (const port of Object.values(ports)) {
      const other = holders.get(port);
      if (other !== undefined)
        findings.add('I2', revision, host, `port ${String(port)} is held by ${other} and by ${id}`);
      holders.set(port, id);
    }
  }
}

function checkLedger(
  revision: number,
  host: string,
  sums: Sums,
  ledger: Ledger = EMPTY_LEDGER,
  findings: Findings,
): void {
  const differ = (what: string, says: unknown, is: unknown): void =>
    findings.add('I3', revision, host, `${what}: the ledger says ${show(says)}, the allocations ${show(is)}`);
  if (show(usedOf(ledger)) !== show(sums.used)) differ('use', usedOf(ledger), sums.used);
  const says = ledger.bands
    .filter((band) => show(band) !== show(NO_RESOURCES))
    .map((band) => [band.precedence, band] as const);
  const are = [...sums.bands].filter(([, band]) => show(band) !== show(NO_RESOURCES));
  if (showBands(says) !== showBands(are)) differ('bands', showBands(says), showBands(are));
  const devices = ledger.gpuMilli.map((milli, device) => [device, milli] as const);
  if (showDevices(devices) !== showDevices([...sums.gpuMilli]))
    differ('gpu', showDevices(devices), showDevices([...sums.gpuMilli]));
  if (show(ledger.ports) !== show(sums.ports)) differ('ports', ledger.ports, sums.ports);
}

/** Equal amounts have equal texts: scalars that are zero are absent, names are in order. */
function show(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `[${value.join(' ')}]`;
  const { cpuMilli, memoryMib, diskMib, scalars } = value as Resources;
  const names = Object.keys(scalars).filter((name) => scalars[name] !== 0);
  const more = names.sort().map((name) => ` ${name}=${String(scalars[name])}`);
  return `cpu=${String(cpuMilli)} memory=${String(memoryMib)} disk=${String(diskMib)}${more.join('')}`;
}

function showBands(bands: readonly (readonly [number, Resources])[]): string {
  const sorted = [...bands].sort(([a], [b]) => a - b);
  return sorted.map(([precedence, band]) => `${String(precedence)}: ${show(band)}`).join('; ');
}

function showDevices(devices: readonly (readonly [number, number])[]): string {
  const used = devices.filter(([, milli]) => milli !== 0).sort(([a], [b]) => a - b);
  return used.map(([device, milli]) => `${String(device)}: ${String(milli)}`).join('; ');
}
