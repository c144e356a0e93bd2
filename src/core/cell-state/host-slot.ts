import { CPU, DISK, GPU_LARGEST, GPU_TOTAL, GPU_WHOLE, MEMORY, PORTS, TAKES } from './capacity-tree.ts';
import type { Claim } from '../cell/claim.ts';
import type { Host } from '../host/host.ts';
import { allocatable } from '../host/host.ts';
import type { Ledger } from '../fit/ledger.ts';
import { EMPTY_LEDGER } from '../fit/ledger.ts';
import type { Resources } from '../cell/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

/** A host as a cell state knows it: one object for the life of the state, which spares lookups by id. */
export interface KnownHost {
  readonly id: string;
  /** Its index in the tables, which changes when hosts come, go or are put in order; −1: not registered. */
  readonly index: number;
}

/** All that is known of one host, also before it is registered: its ledger and `alive` key may come first. */
export interface HostSlot extends KnownHost {
  index: number;
  host: Host | undefined;
  whole: WholeHost;
  ledger: Ledger;
  revision: number;
  alive: boolean;
  /** Why an operator has paused placement there, for people; null: it goes on. */
  paused: string | null;
  /** Its newest ledger is not read yet. */
  unread: boolean;
  /** Claims of this scheduler that the known ledger does not include yet. */
  inFlight: Claim[];
  /** Thousandths in use by device: ledger and claims in flight. */
  gpuUsed: number[];
  /** Ports in use, with how often each is counted; null: none. */
  ports: Map<number, number> | null;
  /** Ports that became free, least recently first; null: none. */
  freed: number[] | null;
  /** Free scalars; null: neither present nor used. */
  scalars: Record<string, number> | null;
}

/**
 * What the empty host gives away. Computed once, at registration: the host's record is spread over the memory, and every
 * new ledger needs this. One plain literal, since V8 reads an object made by spreading four times as slowly.
 */
interface WholeHost {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly diskMib: number;
  /** null: none. */
  readonly scalars: Readonly<Record<string, number>> | null;
  readonly devices: number;
  readonly ports: number;
}

/** What a claim takes of a host. */
export type Use = Pick<Claim, 'resources' | 'gpus' | 'ports'>;

/** Shared by all slots without claims in flight; never written. */
export const NO_CLAIMS: Claim[] = [];
const NO_DEVICES: number[] = [];
const NOTHING: WholeHost = { cpuMilli: 0, memoryMib: 0, diskMib: 0, scalars: null, devices: 0, ports: 0 };

export function newSlot(id: string): HostSlot {
  return {
    id,
    index: -1,
    host: undefined,
    whole: NOTHING,
    ledger: EMPTY_LEDGER,
    revision: 0,
    alive: false,
    paused: null,
    unread: false,
    inFlight: NO_CLAIMS,
    gpuUsed: [],
    ports: null,
    freed: null,
    scalars: null,
  };
}

/** Sets the host's registration. */
export function register(slot: HostSlot, host: Host): void {
  const { cpuMilli, memoryMib, diskMib, scalars } = allocatable(host);
  slot.host = host;
  slot.whole = {
    cpuMilli,
    memoryMib,
    diskMib,
    scalars: isEmpty(scalars) ? null : scalars,
    devices: host.gpuModels.length,
    ports: Math.max(0, host.portRange.last - host.portRange.first + 1),
  };
}

/** Beyond so many, the first has been free for long. */
const FREED_MAX = 64;

/** Notes ports that a new ledger no longer holds: they are chosen last for a while (S1.3). */
export function noteFreed(slot: HostSlot, before: readonly number[], after: readonly number[]): void {
  if (before.length === 0 && slot.freed === null) return;
  const freed = before.filter((port) => !after.includes(port));
  const earlier = (slot.freed ?? []).filter((port) => !after.includes(port));
  slot.freed = freed.length + earlier.length === 0 ? null : [...earlier, ...freed].slice(-FREED_MAX);
}

/** May the host be given work? */
export function takesWork(slot: HostSlot): boolean {
  return slot.host !== undefined && slot.alive && slot.paused === null && slot.ledger.state === 'ready';
}

/** Computes what is free from scratch: allocatable minus ledger minus claims in flight. */
export function fillRow(slot: HostSlot, rows: Float64Array, offset: number): void {
  const { cpuMilli, memoryMib, diskMib, scalars, devices } = slot.whole;
  rows[offset + CPU] = cpuMilli;
  rows[offset + MEMORY] = memoryMib;
  rows[offset + DISK] = diskMib;
  slot.scalars = scalars === null ? null : { ...scalars };
  for (const band of slot.ledger.bands) shiftAmounts(slot, rows, offset, band, 1);
  slot.gpuUsed =
    devices === 0
      ? NO_DEVICES
      : Array.from({ length: devices }, (_, device) => slot.ledger.gpuMilli[device] ?? 0);
  slot.ports = null;
  for (const port of slot.ledger.ports) shiftPort(slot, port, 1);
  for (const claim of slot.inFlight) shiftUse(slot, rows, offset, claim, 1);
  deriveGpu(slot, rows, offset);
  derivePorts(slot, rows, offset);
  rows[offset + TAKES] = takesWork(slot) ? 1 : 0;
}

/** Adds (`sign` 1) or removes (−1) one use. */
export function shiftRow(slot: HostSlot, rows: Float64Array, offset: number, use: Use, sign: 1 | -1): void {
  shiftUse(slot, rows, offset, use, sign);
  if (use.gpus.length > 0) deriveGpu(slot, rows, offset);
  if (!isEmpty(use.ports)) derivePorts(slot, rows, offset);
}

function shiftUse(slot: HostSlot, rows: Float64Array, offset: number, use: Use, sign: 1 | -1): void {
  shiftAmounts(slot, rows, offset, use.resources, sign);
  for (const { device, milli } of use.gpus) {
    if (device < slot.gpuUsed.length) slot.gpuUsed[device] = (slot.gpuUsed[device] ?? 0) + sign * milli;
  }
  for (const label in use.ports) shiftPort(slot, use.ports[label] ?? 0, sign);
}

function shiftAmounts(
  slot: HostSlot,
  rows: Float64Array,
  offset: number,
  amounts: Resources,
  sign: 1 | -1,
): void {
  rows[offset + CPU]! -= sign * amounts.cpuMilli;
  rows[offset + MEMORY]! -= sign * amounts.memoryMib;
  rows[offset + DISK]! -= sign * amounts.diskMib;
  for (const name in amounts.scalars) {
    slot.scalars ??= {};
    slot.scalars[name] = (slot.scalars[name] ?? 0) - sign * (amounts.scalars[name] ?? 0);
  }
}

function shiftPort(slot: HostSlot, port: number, sign: 1 | -1): void {
  slot.ports ??= new Map();
  const times = (slot.ports.get(port) ?? 0) + sign;
  if (times > 0) slot.ports.set(port, times);
  else slot.ports.delete(port);
}

function deriveGpu(slot: HostSlot, rows: Float64Array, offset: number): void {
  let total = 0;
  let largest = 0;
  let whole = 0;
  for (const used of slot.gpuUsed) {
    const free = Math.max(0, GPU_MILLI_PER_DEVICE - used);
    total += free;
    if (free > largest) largest = free;
    if (free === GPU_MILLI_PER_DEVICE) whole += 1;
  }
  rows[offset + GPU_TOTAL] = total;
  rows[offset + GPU_LARGEST] = largest;
  rows[offset + GPU_WHOLE] = whole;
}

function derivePorts({ host, whole, ports }: HostSlot, rows: Float64Array, offset: number): void {
  let free = whole.ports;
  if (ports !== null && host !== undefined) {
    const { first, last } = host.portRange;
    for (const port of ports.keys()) if (port >= first && port <= last) free -= 1;
  }
  rows[offset + PORTS] = free;
}

export function isEmpty(record: Readonly<Record<string, unknown>>): boolean {
  for (const _ in record) return false;
  return true;
}
