import type { Host } from '../../../src/core/host/host.ts';
import type { Ledger } from '../../../src/core/fit/ledger.ts';
import { bandOf, EMPTY_LEDGER } from '../../../src/core/fit/ledger.ts';
import type { KnownLedger } from '../../../src/core/commit/ledger-book.ts';
import type { GpuShare, Resources } from '../../../src/core/cell/resources.ts';
import { NO_SCALARS } from '../../../src/core/cell/resources.ts';
import type { CellShape, TaskShape } from '../workload/workload.ts';
import type { FreeCapacity } from './free-capacity.ts';
import { hostsOf, changeCapacity } from './free-capacity.ts';

/** All claims of a simulation are of one precedence: Omega's experiments preempt nothing. */
export const PRECEDENCE = 50;

/**
 * The truth that schedulers share: what is free on each host and the revision of its ledger, in flat tables, so that a
 * private copy is three block moves. A ledger as the commit knows it is made on demand.
 */
export class SharedCell implements FreeCapacity {
  readonly hosts: readonly Host[];
  readonly cpuMilli: Int32Array;
  readonly memoryMib: Int32Array;
  readonly gpuUsed: (readonly number[])[] | null;
  /** Moves with each claim; with each end of a task only if `endsMove`. */
  readonly revision: Int32Array;
  /** The group that a host was dealt out to, as a bit. */
  readonly groupBit: Int32Array;
  readonly cpuMilliTotal: number;
  readonly memoryMibTotal: number;
  readonly #endsMove: boolean;
  #cpuMilliUsed = 0;
  #memoryMibUsed = 0;

  /**
   * @param groupOf the group of a host, from 0
   * @param endsMove true: as in our store, where every change of a ledger moves its revision; false: as in Omega's
   *   simulator, where freeing does not
   */
  constructor(shape: CellShape, groupOf: (host: number) => number, endsMove: boolean) {
    this.hosts = hostsOf(shape.hosts);
    this.#endsMove = endsMove;
    this.cpuMilli = Int32Array.from(this.hosts, ({ capacity }) => capacity.cpuMilli);
    this.memoryMib = Int32Array.from(this.hosts, ({ capacity }) => capacity.memoryMib);
    this.revision = new Int32Array(this.hosts.length).fill(1);
    this.groupBit = Int32Array.from(this.hosts, (_, host) => 1 << groupOf(host));
    this.cpuMilliTotal = this.hosts.reduce((sum, { capacity }) => sum + capacity.cpuMilli, 0);
    this.memoryMibTotal = this.hosts.reduce((sum, { capacity }) => sum + capacity.memoryMib, 0);
    const devices = this.hosts.some(({ gpuModels }) => gpuModels.length > 0);
    this.gpuUsed = devices ? this.hosts.map(({ gpuModels }) => gpuModels.map(() => 0)) : null;
  }

  get size(): number {
    return this.hosts.length;
  }

  get cpuMilliUsed(): number {
    return this.#cpuMilliUsed;
  }

  get memoryMibUsed(): number {
    return this.#memoryMibUsed;
  }

  claim(host: number, shape: TaskShape, devices: readonly GpuShare[]): void {
    changeCapacity(this, host, shape, devices, 1);
    this.revision[host]! += 1;
    this.#count(shape, 1);
  }

  free(host: number, shape: TaskShape, devices: readonly GpuShare[]): void {
    changeCapacity(this, host, shape, devices, -1);
    if (this.#endsMove) this.revision[host]! += 1;
    this.#count(shape, -1);
  }

  /** A placement that was made on the tables themselves. */
  counted(host: number, shape: TaskShape): void {
    this.revision[host]! += 1;
    this.#count(shape, 1);
  }

  ledgerOf(host: number): KnownLedger {
    const { capacity } = this.hosts[host] as Host;
    const used: Resources = {
      cpuMilli: capacity.cpuMilli - this.cpuMilli[host]!,
      memoryMib: capacity.memoryMib - this.memoryMib[host]!,
      diskMib: 0,
      scalars: NO_SCALARS,
    };
    const bands = [bandOf(PRECEDENCE, used)];
    const ledger: Ledger = { ...EMPTY_LEDGER, bands, gpuMilli: this.gpuUsed?.[host] ?? [] };
    return { ledger, revision: this.revision[host]! };
  }

  #count(shape: TaskShape, sign: 1 | -1): void {
    this.#cpuMilliUsed += sign * shape.cpuMilli;
    this.#memoryMibUsed += sign * shape.memoryMib;
  }
}
