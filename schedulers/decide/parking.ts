import type { CellState } from '../../src/core/cell-state/cell-state.ts';
import { freeWithoutSurplus } from '../../src/core/fit/ledger.ts';
import type { Ask } from '../../src/core/cell/ask.ts';
import { askOf } from '../../src/core/cell/ask.ts';
import { chooseGpus } from '../../src/core/fit/gpu-choice.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { Resources } from '../../src/core/cell/resources.ts';
import { NO_RESOURCES, shortOf } from '../../src/core/cell/resources.ts';
import { VOLUME_POOL } from '../../src/core/quota/volume-claims.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { Partition } from '../state/state.ts';
import { turnAt } from './partition.ts';

/** Between two wake-ups: in a full cell something is released all the time, and each wake-up is a walk over hosts. */
const WAKE_EVERY_MS = 100;
/** Between the turns of two schedulers: longer than it takes until the commit of one is seen by the other. */
const TURN_MS = 200;
const TURNS_MAX = 3;
/** Jobs woken at once; the others follow in the next round. */
const WAKES_MAX = 256;
/** Freed hosts that are checked one by one for each parked job; of more only the vector is kept. */
const HOSTS_MAX = 64;
/** A job that nothing woke is decided on in any case: the level-triggered repair of a missed change. */
const PARKED_MAX_MS = 30_000;

/**
 * Jobs that fit nowhere, until something changes that could make one fit: a release, a new host, a host's eligibility. What
 * became free since the last wake-up is kept as one vector, at least as large as each of the hosts in every dimension; a
 * job that does not fit into it fits on none of them and sleeps on. As long as the freed hosts are few they are checked as
 * well: in a full cell it is mostly a device that is missing. What elastic groups have above their minimum counts as free,
 * since a job that is woken may take it.
 *
 * In a full cell every scheduler has jobs that wait for what one host frees. If all woke them at once, all but one would lose
 * the commit; so they take turns, first the one in whose part of the cell the host lies.
 */
export class Parking {
  readonly #clock: Clock;
  readonly #state: CellState;
  readonly #wake: (job: OwnedJob) => void;
  readonly #partition: () => Partition;
  /** Freed hosts whose turn comes later. */
  readonly #later = new Set<string>();
  readonly #jobs = new Set<OwnedJob>();
  #free: Resources | null = null;
  /** The freed hosts; null when they are too many. */
  #hosts: Set<string> | null = new Set();
  /** Shared resources of which more became free. */
  #shared = new Set<string>();
  #cancel: (() => void) | null = null;

  constructor(parts: {
    readonly clock: Clock;
    readonly state: CellState;
    readonly wake: (job: OwnedJob) => void;
    readonly partition: () => Partition;
  }) {
    this.#clock = parts.clock;
    this.#state = parts.state;
    this.#wake = parts.wake;
    this.#partition = parts.partition;
  }

  get size(): number {
    return this.#jobs.size;
  }

  park(job: OwnedJob): void {
    this.#jobs.add(job);
  }

  leave(job: OwnedJob): void {
    this.#jobs.delete(job);
  }

  /** A group of the job is no longer parked; without any parked group the job leaves. */
  unparked(job: OwnedJob): void {
    for (const group of job.groups.values()) if (group.parked) return;
    this.#jobs.delete(job);
  }

  capacityFreed(hostId: string): void {
    if (this.#jobs.size === 0 || this.#later.has(hostId)) return;
    const turn = turnAt(this.#partition(), this.#state.indexOf(hostId), this.#state.size);
    if (turn === 0) {
      this.#noteFreed(hostId);
      return;
    }
    this.#later.add(hostId);
    this.#clock.after(TURN_MS * Math.min(turn, TURNS_MAX), () => {
      if (this.#later.delete(hostId)) this.#noteFreed(hostId);
    });
  }

  #noteFreed(hostId: string): void {
    const host = this.#state.hostOf(hostId);
    if (host === undefined) return;
    this.#free = largest(this.#free ?? NO_RESOURCES, freeWithoutSurplus(host, this.#state.ledgerOf(hostId)));
    if (this.#hosts !== null && this.#hosts.add(hostId).size > HOSTS_MAX) this.#hosts = null;
    this.#cancel ??= this.#clock.after(WAKE_EVERY_MS, () => this.#wakeFitting());
  }

  /** More may be free of a shared resource: jobs that ask for it are woken. */
  sharedFreed(resource: string): void {
    if (this.#jobs.size === 0) return;
    this.#shared.add(resource);
    this.#cancel ??= this.#clock.after(WAKE_EVERY_MS, () => this.#wakeFitting());
  }

  wakeOverdue(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const job of [...this.#jobs]) {
      const isOld = [...job.groups.values()].some(
        (group) => group.parked && nowMs - (group.parkedSinceMs ?? 0) >= PARKED_MAX_MS,
      );
      if (isOld) this.#unpark(job, () => true);
    }
  }

  /** The job may make room for itself now. */
  wake(job: OwnedJob): void {
    if (!this.#unpark(job, () => true)) this.#wake(job);
  }

  wakeAll(): void {
    for (const job of [...this.#jobs]) this.#unpark(job, () => true);
  }

  close(): void {
    this.#cancel?.();
    this.#later.clear();
    this.#jobs.clear();
  }

  #wakeFitting(): void {
    this.#cancel = null;
    const free = this.#free;
    const shared = this.#shared;
    if (free === null && shared.size === 0) return;
    let woken = 0;
    for (const job of [...this.#jobs]) {
      if (woken === WAKES_MAX) {
        this.#cancel = this.#clock.after(WAKE_EVERY_MS, () => this.#wakeFitting());
        return;
      }
      const couldFit = (ask: Ask, { volumes }: Group): boolean => {
        if (volumes !== undefined && shared.has(VOLUME_POOL)) return true;
        for (const resource in ask.shared) if (shared.has(resource)) return true;
        return free !== null && shortOf(ask.resources, free) === null && this.#anyFits(ask);
      };
      if (this.#unpark(job, couldFit)) woken += 1;
    }
    this.#free = null;
    this.#hosts = new Set();
    this.#shared = new Set();
  }

  #anyFits({ resources, gpu }: Ask): boolean {
    if (this.#hosts === null) return true;
    for (const id of this.#hosts) {
      const host = this.#state.hostOf(id);
      if (host === undefined) continue;
      const ledger = this.#state.ledgerOf(id);
      const hasDevices = chooseGpus(host.gpuModels, ledger.gpuMilli, gpu, 'fullest') !== null;
      if (hasDevices && shortOf(resources, freeWithoutSurplus(host, ledger)) === null) return true;
    }
    return false;
  }

  #unpark(job: OwnedJob, couldFit: (ask: Ask, group: Group) => boolean): boolean {
    let any = false;
    for (const [name, state] of job.groups) {
      if (!state.parked) continue;
      const group = job.record.job.groups[name];
      if (group !== undefined && !couldFit(askOf(group), group)) continue;
      state.parked = false;
      any = true;
    }
    if (!any) return false;
    this.unparked(job);
    this.#wake(job);
    return true;
  }
}

function largest(a: Resources, b: Resources): Resources {
  const scalars: Record<string, number> = { ...a.scalars };
  for (const [name, amount] of Object.entries(b.scalars))
    scalars[name] = Math.max(scalars[name] ?? 0, amount);
  return {
    cpuMilli: Math.max(a.cpuMilli, b.cpuMilli),
    memoryMib: Math.max(a.memoryMib, b.memoryMib),
    diskMib: Math.max(a.diskMib, b.diskMib),
    scalars,
  };
}
