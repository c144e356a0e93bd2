import type { SeededRandom } from '../../../src/core/random/random.ts';
import type { SimJob } from '../workload/workload.ts';
import { Fifo } from './fifo.ts';
import type { SchedulerMeter } from './meters.ts';
import type { PlacementRule } from './placer.ts';
import { Placer } from './placer.ts';
import type { FreeCapacity } from './free-capacity.ts';
import { NO_DEVICES } from './free-capacity.ts';
import type { JobScheduler } from './scheduler.ts';
import type { SharedCell } from './shared-cell.ts';
import type { JobState, Started, ModelWorld } from './model.ts';

/** What an allocator needs for one offer. */
const OFFER_SECONDS = 0.001;
const DEVICE_FULL = 1000;

/** All that was free when it was made, locked until it is answered. */
interface Offer {
  readonly free: FreeCapacity;
  /** Where anything is free at all: between two large offers only a few hosts. */
  readonly hosts: Int32Array;
  readonly cpuMilli: Int32Array;
  readonly memoryMib: Int32Array;
  readonly cpuMilliSum: number;
  readonly memoryMibSum: number;
}

/**
 * The two-level design of Mesos: all free resources are offered to the framework that is furthest below its share (by its
 * dominant resource) and has work, and no other framework sees them until it has answered.
 */
export class Allocator {
  readonly #world: ModelWorld;
  readonly #cell: SharedCell;
  readonly #frameworks: Framework[] = [];
  readonly #lockedCpu: Int32Array;
  readonly #lockedMemory: Int32Array;
  #offers = 0;
  #lockedCpuSum = 0;
  #lockedMemorySum = 0;
  #busy = false;

  constructor(world: ModelWorld) {
    this.#world = world;
    this.#cell = world.cell;
    this.#lockedCpu = new Int32Array(world.cell.size);
    this.#lockedMemory = new Int32Array(world.cell.size);
    world.onFreed(() => this.poke());
  }

  framework(meter: SchedulerMeter, chance: SeededRandom): JobScheduler {
    const framework = new Framework(this.#world, meter, this, chance, this.#world.spec.placement);
    this.#frameworks.push(framework);
    return framework;
  }

  /** Something changed: perhaps there is an offer to make. */
  poke(): void {
    if (this.#busy || !this.#hasFree() || this.#neediest() === null) return;
    this.#busy = true;
    this.#world.time.after(OFFER_SECONDS, 'offer', () => {
      this.#busy = false;
      const framework = this.#neediest();
      if (framework !== null && this.#hasFree()) framework.take(this.#lock());
      this.poke();
    });
  }

  answered(offer: Offer): void {
    for (let host = 0; host < this.#cell.size; host++) {
      this.#lockedCpu[host]! -= offer.cpuMilli[host]!;
      this.#lockedMemory[host]! -= offer.memoryMib[host]!;
    }
    this.#lockedCpuSum -= offer.cpuMilliSum;
    this.#lockedMemorySum -= offer.memoryMibSum;
    this.#offers -= 1;
    this.poke();
  }

  #hasFree(): boolean {
    return (
      this.#cell.cpuMilliTotal - this.#cell.cpuMilliUsed > this.#lockedCpuSum &&
      this.#cell.memoryMibTotal - this.#cell.memoryMibUsed > this.#lockedMemorySum
    );
  }

  #neediest(): Framework | null {
    let found: Framework | null = null;
    for (const framework of this.#frameworks) {
      if (framework.wantsOffer && (found === null || framework.dominantShare < found.dominantShare))
        found = framework;
    }
    return found;
  }

  #lock(): Offer {
    const cpuMilli = new Int32Array(this.#cell.size);
    const memoryMib = new Int32Array(this.#cell.size);
    const hosts = new Int32Array(this.#cell.size);
    let [cpuMilliSum, memoryMibSum, count] = [0, 0, 0];
    for (let host = 0; host < this.#cell.size; host++) {
      const cpu = this.#cell.cpuMilli[host]! - this.#lockedCpu[host]!;
      const memory = this.#cell.memoryMib[host]! - this.#lockedMemory[host]!;
      cpuMilli[host] = cpu;
      memoryMib[host] = memory;
      this.#lockedCpu[host]! += cpu;
      this.#lockedMemory[host]! += memory;
      cpuMilliSum += cpu;
      memoryMibSum += memory;
      if (cpu > 0 && memory > 0) hosts[count++] = host;
    }
    this.#lockedCpuSum += cpuMilliSum;
    this.#lockedMemorySum += memoryMibSum;
    const { gpuUsed } = this.#cell;
    // An offer holds the devices of all hosts, so a second one has none, not even those freed since.
    const devices = gpuUsed?.map((used) => (this.#offers === 0 ? used : used.map(() => DEVICE_FULL))) ?? null;
    this.#offers += 1;
    const free = { cpuMilli: cpuMilli.slice(), memoryMib: memoryMib.slice(), gpuUsed: devices };
    return { free, hosts: hosts.subarray(0, count), cpuMilli, memoryMib, cpuMilliSum, memoryMibSum };
  }
}

interface Tried {
  readonly state: JobState;
  /** null: nothing of it fitted. */
  readonly placed: Started | null;
  readonly thinkSeconds: number;
}

/** One scheduler under the allocator: it tries the jobs of its queue on an offer and holds all of it meanwhile. */
class Framework implements JobScheduler {
  readonly meter: SchedulerMeter;
  readonly #world: ModelWorld;
  readonly #allocator: Allocator;
  readonly #placer: Placer;
  readonly #queue = new Fifo<JobState>();
  #holds = false;
  #cpuMilli = 0;
  #memoryMib = 0;

  constructor(
    world: ModelWorld,
    meter: SchedulerMeter,
    allocator: Allocator,
    chance: SeededRandom,
    rule: PlacementRule,
  ) {
    this.meter = meter;
    this.#world = world;
    this.#allocator = allocator;
    this.#placer = new Placer(world.cell.hosts, world.cell.groupBit, rule, chance);
  }

  get wantsOffer(): boolean {
    return !this.#holds && this.#queue.size > 0;
  }

  get dominantShare(): number {
    const { cpuMilliTotal, memoryMibTotal } = this.#world.cell;
    return Math.max(this.#cpuMilli / cpuMilliTotal, this.#memoryMib / memoryMibTotal);
  }

  submit(state: JobState): void {
    this.meter.thinkSecondsWanted += this.#world.thinkSeconds(state);
    this.#enqueue(state);
  }

  take(offer: Offer): void {
    this.#holds = true;
    const tried: Tried[] = [];
    let thinkSeconds = 0;
    let [cpuLeft, memoryLeft] = [offer.cpuMilliSum, offer.memoryMibSum];
    while (cpuLeft > 0 && memoryLeft > 0) {
      const state = this.#queue.shift();
      if (state === undefined) break;
      this.#world.firstTry(state);
      state.tries += 1;
      const one = {
        state,
        placed: this.#place(offer, state),
        thinkSeconds: this.#world.thinkSeconds(state),
      };
      const { cpuMilli, memoryMib } = state.job.shape;
      cpuLeft -= (one.placed?.hosts.length ?? 0) * cpuMilli;
      memoryLeft -= (one.placed?.hosts.length ?? 0) * memoryMib;
      thinkSeconds += one.thinkSeconds;
      tried.push(one);
    }
    const startSeconds = this.#world.time.nowSeconds;
    this.#world.time.after(thinkSeconds, 'answer', () => this.#answer(offer, tried, startSeconds));
  }

  #enqueue(state: JobState): void {
    this.#queue.push(state);
    this.#allocator.poke();
  }

  #place({ free, hosts }: Offer, { job, unplaced }: JobState): Started | null {
    const placed = this.#placer.place(free, job, unplaced, hosts);
    if (placed.count === 0 || (job.gang && placed.count < unplaced)) {
      this.#placer.undo(free, job.shape, placed);
      return null;
    }
    return { hosts: placed.hosts.slice(0, placed.count), devices: placed.devices };
  }

  #answer(offer: Offer, tried: readonly Tried[], startSeconds: number): void {
    this.#holds = false;
    this.#world.countUse();
    let at = startSeconds;
    for (const { state, placed, thinkSeconds } of tried) {
      this.meter.thought(placed === null ? 'no-capacity' : 'useful', at, at + thinkSeconds);
      at += thinkSeconds;
      if (placed !== null) this.#start(state, placed);
      if (state.unplaced > 0 && !this.#world.givesUp(state))
        this.#world.time.after(this.#world.spec.retry.delaySeconds, 'again', () => this.#enqueue(state));
    }
    this.#allocator.answered(offer);
  }

  #start(state: JobState, placed: Started): void {
    const { job } = state;
    const tasks = placed.hosts.length;
    for (let task = 0; task < tasks; task++)
      this.#world.cell.claim(placed.hosts[task]!, job.shape, placed.devices?.[task] ?? NO_DEVICES);
    this.meter.succeeded += 1;
    this.meter.tasksCommitted += tasks;
    this.#use(job, tasks);
    this.#world.started(state, placed, () => this.#use(job, -tasks));
  }

  #use({ shape }: SimJob, tasks: number): void {
    this.#cpuMilli += tasks * shape.cpuMilli;
    this.#memoryMib += tasks * shape.memoryMib;
  }
}
