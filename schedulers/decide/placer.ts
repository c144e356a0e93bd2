import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Ask } from '../../src/core/cell/ask.ts';
import { askOf } from '../../src/core/cell/ask.ts';
import type { Explanation } from '../../src/core/placement/explain.ts';
import { explain } from '../../src/core/placement/explain.ts';
import type { Fits } from '../../src/core/placement/fits.ts';
import { fits } from '../../src/core/placement/fits.ts';
import type { Chance } from '../../src/core/random/chance.ts';
import type { CellState } from '../../src/core/cell-state/cell-state.ts';
import type { KnownHost } from '../../src/core/cell-state/host-slot.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { Placement, PlacementRequest } from '../../src/core/placement/placement-request.ts';
import { place } from '../../src/core/placement/placement.ts';
import type { SharedUse } from '../../src/core/cell/claim.ts';
import { SURPLUS_PRECEDENCE } from '../../src/core/cell/claim.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { claimOf } from '../../src/core/quota/ticket.ts';
import { volumePool } from '../../src/core/quota/volume-claims.ts';
import type { Term } from '../state/state.ts';
import { wallMs } from '../state/state.ts';
import { DataPlaces } from './data-places.ts';
import { Explanations } from './explanations.ts';
import { chanceFor, PackingChance } from './partition.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import { Entry } from '../state/owned-job.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import { PolicyError } from '../../src/core/scoring/policy.ts';

const ID_BYTES = 16;

/** Its author may mend it meanwhile: what makes it throw may be in the cell. */
const POLICY_WAIT_MS = 5_000;
/** A stack or a dump in a message is for the log. */
const POLICY_FAULT_CHARS_MAX = 300;

/**
 * Finds hosts for slots, with `place` of `src/core`, and assumes the placements in the private cell (Omega): decisions that
 * follow count them as taken. Only a commit makes them true.
 */
export class Placer {
  readonly #term: Term;
  /** What the last group asks for: mostly the next request is for the same group. */
  #last: { readonly group: Group; readonly ask: Ask } | null = null;
  readonly #chance: Chance;
  readonly #data: DataPlaces;
  readonly #explanations: Explanations;

  constructor(term: Term) {
    this.#term = term;
    this.#data = new DataPlaces(term.cell);
    this.#explanations = new Explanations(term.cell.state);
    this.#chance = chanceFor(term.options.placement.score, term.world.random, () => term.partition);
  }

  /** A host refused a start: the next searches begin at other hosts. */
  searchElsewhere(): void {
    if (this.#chance instanceof PackingChance) this.#chance.redraw();
  }

  /** The fills, those with data on the host where it lies. */
  bind(job: OwnedJob, group: Group, fills: readonly Fill[]): readonly Fill[] {
    return this.#data.bind(job, group, fills);
  }

  /**
   * @param fills of one group; at most as many are placed as there are
   * @returns the placed ones, in the order of `fills`, shorter where no host was found; null: the scheduler's own policy
   *   threw, nothing is placed, and the group waits with that as its reason
   */
  place(job: OwnedJob, group: Group, fills: readonly Fill[], planId: string): readonly Entry[] | null {
    const made: Entry[] = [];
    try {
      this.#placeAll(job, group, fills, { planId, made });
      return made;
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      for (const entry of made) this.#forget(job, entry);
      this.#policyFailed(job, group, error);
      return null;
    }
  }

  #forget(job: OwnedJob, entry: Entry): void {
    this.#term.cell.state.forget(entry.allocation);
    this.#term.dropEntry(job, entry);
  }

  #policyFailed(job: OwnedJob, { name }: Group, error: PolicyError): void {
    const why = error.message.replaceAll(/\s+/g, ' ').slice(0, POLICY_FAULT_CHARS_MAX);
    if (job.group(name).blockedWhy !== why) {
      this.#term.world.log.error({ error, job: job.name, group: name }, 'the policy threw; the group waits');
      this.#term.emit('parked', job, `${name}: ${why}`);
    }
    backOffGroup(this.#term, job, name, why, POLICY_WAIT_MS);
  }

  /** @param into `made`: what is placed, in the order of `fills` */
  #placeAll(
    job: OwnedJob,
    group: Group,
    fills: readonly Fill[],
    { planId, made }: { readonly planId: string; readonly made: Entry[] },
  ): void {
    const { world } = this.#term;
    const nowMs = wallMs(world);
    // One draw for the ids of all of them.
    const bytes = world.random.bytes(fills.length * ID_BYTES);
    for (const part of byAvoided(fills)) {
      const places = this.#places(job, group, part);
      for (const [i, placement] of places.entries()) {
        const fill = part[i];
        if (fill === undefined) continue;
        const id = makeId(nowMs, bytes, made.length * ID_BYTES);
        made.push(this.assume(job, group, fill, { id, planId, placement }));
      }
    }
  }

  /** The request for a slot with preemption: of the hosts that the group holds, only `distinct` counts there. */
  evictingRequest(job: OwnedJob, group: Group, fill: Fill): PlacementRequest {
    return { ...this.memberRequest(job, group, fill), hostsHeld: this.heldForDistinct(job, group) };
  }

  /** The same without the hosts that the group holds, for a caller that counts them itself. */
  memberRequest(job: OwnedJob, group: Group, fill?: Fill): PlacementRequest {
    return this.#request(job, pinned(group, fill?.host), 1, fill, NO_HOSTS);
  }

  /** Hosts that the group holds, one entry each, where `distinct` asks for them. */
  heldForDistinct(job: OwnedJob, { name, distinct }: Group): readonly KnownHost[] {
    return distinct.length === 0 ? NO_HOSTS : hostsHeld(job, name, this.#term.cell.state);
  }

  /** Why one more of the group has no place now. Walks over the cell. */
  explain(job: OwnedJob, group: Group, fill: Fill | undefined): Explanation {
    return explain(this.#term.cell.state, this.#explainedRequest(job, group, fill));
  }

  /** The same for a group that is parked: equal ones share an answer, which may be some seconds old. */
  explainParked(job: OwnedJob, group: Group, fill: Fill | undefined): Explanation {
    const nowMs = this.#term.world.clock.monotonicMs();
    return this.#explanations.of(this.#explainedRequest(job, group, fill), nowMs);
  }

  #explainedRequest(job: OwnedJob, group: Group, fill: Fill | undefined): PlacementRequest {
    const [bound] = fill === undefined ? [] : this.#data.bind(job, group, [fill]);
    const why = bound === undefined ? null : (this.#data.reason(job, group, bound) ?? awaiting(job, bound));
    return this.#request(job, pinned(group, bound?.host, why), 1, fill, this.#heldBy(job, group));
  }

  /** How many of the group fit at once, now and in an empty cell. Walks over the cell. */
  fits(job: OwnedJob, group: Group, fills: readonly Fill[]): Fits {
    const request = this.#request(job, group, fills.length, fills[0], this.#heldBy(job, group));
    // What fits depends on no score, and a policy of somebody's own may throw.
    const { scoreHost: _own, ...placement } = this.#term.options.placement;
    return fits(this.#term.cell.state, request, placement);
  }

  /** Assumes a placement in the private cell. @param made `evicts`: victims that give up its capacity */
  assume(
    job: OwnedJob,
    group: Group,
    fill: Fill,
    made: {
      readonly id: string;
      readonly planId: string;
      readonly placement: Placement;
      readonly evicts?: readonly string[];
    },
  ): Entry {
    const { placement, evicts } = made;
    const { cell, incarnation, options, world } = this.#term;
    const ask = this.#askOf(group);
    const shared = this.#sharedOn(placement.host, ask);
    const allocation: Allocation = {
      id: made.id,
      host: placement.host,
      precedence: precedenceOf(job, fill),
      resources: ask.resources,
      gpus: placement.gpus,
      ports: placement.ports,
      ...shared,
      ...(group.volumes && this.#volumesOf(job, group, { index: fill.index, id: made.id, shared })),
      namespace: job.namespace,
      job: job.name,
      jobVersion: job.record.version,
      group: group.name,
      index: fill.index,
      attempt: fill.attempt,
      scheduler: options.id,
      desired: 'run',
      planId: made.planId,
      epoch: { incarnation, counter: cell.book.get(placement.host).ledger.counter },
      createdAtMs: wallMs(world),
      ...(fill.replaces === undefined ? {} : { replaces: fill.replaces }),
      ...(evicts === undefined ? {} : { evicts }),
    };
    cell.state.assume(claimOf(allocation), placement.known);
    const entry = new Entry(allocation, 0, 'ticket');
    entry.host = placement.known ?? null;
    if (fill.standsFor !== undefined) entry.standsFor = fill.standsFor;
    job.entries.set(allocation.id, entry);
    return entry;
  }

  /** The volumes of its group, and their claims among what it takes of pools. */
  #volumesOf(
    job: OwnedJob,
    group: Group,
    {
      index,
      id,
      shared,
    }: Pick<Allocation, 'index' | 'id'> & { readonly shared: { readonly shared: SharedUse } | null },
  ): Pick<Allocation, 'volumes' | 'shared'> {
    const volumes = this.#data.usesOf(job, group, index, id);
    const claims = volumes.map(({ claim }) => [volumePool(job.namespace, claim), 1] as const);
    return { volumes, shared: { ...shared?.shared, ...Object.fromEntries(claims) } };
  }

  /** What the allocation takes of the pools that the host belongs to. */
  #sharedOn(hostId: string, { shared }: Ask): { readonly shared: SharedUse } | null {
    if (shared === undefined) return null;
    const { state } = this.#term.cell;
    const host = state.hostOf(hostId);
    if (host === undefined) throw new Error(`chose ${hostId}, which is not registered`);
    return { shared: state.pools.useOn(host, shared) };
  }

  /** Would the host take one more of the group, if that allocation left its own? */
  takes(job: OwnedJob, group: Group, host: string, leaving: string): boolean {
    const { cell, options } = this.#term;
    const held = hostsHeld(job, group.name, cell.state, leaving);
    const request = this.#request(job, pinned(group, host), 1, undefined, held);
    try {
      return place(cell.state, request, this.#chance, options.placement).chosen.length > 0;
    } catch (error) {
      if (error instanceof PolicyError) return false;
      throw error;
    }
  }

  #places(job: OwnedJob, group: Group, fills: readonly Fill[]): readonly Placement[] {
    const { cell, options } = this.#term;
    const [first] = fills;
    if (first?.prefersHost !== undefined) {
      const request = this.#request(
        job,
        pinned(group, first.prefersHost),
        1,
        first,
        this.#heldBy(job, group),
      );
      const { chosen } = place(cell.state, request, this.#chance, options.placement);
      if (chosen.length > 0) return chosen;
    }
    const where = pinned(group, first?.host);
    const request = this.#request(job, where, fills.length, first, this.#heldBy(job, group));
    return place(cell.state, request, this.#chance, options.placement).chosen;
  }

  #request(
    job: OwnedJob,
    group: Group,
    count: number,
    fill: Fill | undefined,
    held: readonly KnownHost[],
  ): PlacementRequest {
    return {
      namespace: job.namespace,
      job: job.name,
      group,
      ask: this.#askOf(group),
      precedence: precedenceOf(job, fill),
      count,
      hostsHeld: held,
      avoidHosts: fill?.avoidHosts ?? [],
      refusingHosts: job.refusing(this.#term.world.clock.monotonicMs()),
    };
  }

  /** Most groups ask for neither `distinct` nor `spread`, and need no list. */
  #heldBy(job: OwnedJob, { name, distinct, spread }: Group): readonly KnownHost[] {
    const matters = job.record.job.type !== 'batch' || distinct.length + spread.length > 0;
    return matters ? hostsHeld(job, name, this.#term.cell.state) : NO_HOSTS;
  }

  #askOf(group: Group): Ask {
    if (this.#last?.group !== group) this.#last = { group, ask: askOf(group) };
    return this.#last.ask;
  }
}

function precedenceOf({ record }: OwnedJob, fill: Fill | undefined): number {
  return fill?.surplus === true ? SURPLUS_PRECEDENCE : record.job.precedence;
}

/** Slots that avoid the same hosts, or are bound to the same one, are placed together: one search for many. */
function byAvoided(fills: readonly Fill[]): Iterable<readonly Fill[]> {
  if (fills.length === 1) return [fills];
  const parts = new Map<string, Fill[]>();
  for (const fill of fills) {
    const { avoidHosts, host, index, prefersHost } = fill;
    // Those that prefer a host are placed one by one: each counts the ones before.
    const own = prefersHost === undefined ? '' : ` ${String(index)}`;
    const key = host === undefined ? `${avoidHosts.join(',')}${own}` : `@${host}`;
    const part = parts.get(key);
    if (part === undefined) parts.set(key, [fill]);
    else part.push(fill);
  }
  return parts.values();
}

/** Of a slot that no drain moves, for people; null: it is none. */
function awaiting({ record }: OwnedJob, { host }: Fill): string | null {
  if (host === undefined || record.job.type === 'system') return null;
  return `its job stays on ${host}: reschedule.onDrain is false`;
}

/** @param why for people: why it may run on no other host */
function pinned(group: Group, host: string | undefined, why: string | null = null): Group {
  if (host === undefined) return group;
  const text = why ?? `host.id == ${host}`;
  const only = { attribute: 'id', operator: '==', value: host, text } as const;
  return { ...group, constraints: [only, ...group.constraints] };
}

const NO_HOSTS: readonly KnownHost[] = Object.freeze([]);

/** @param leaving an allocation that does not count */
function hostsHeld(job: OwnedJob, group: string, state: CellState, leaving = ''): readonly KnownHost[] {
  const held: KnownHost[] = [];
  for (const entry of job.entries.values()) {
    const { allocation } = entry;
    if (allocation.group !== group || allocation.desired !== 'run' || allocation.id === leaving) continue;
    held.push((entry.host ??= state.known(allocation.host)));
  }
  for (const { allocation } of job.unrecorded)
    if (allocation.group === group && allocation.desired === 'run') held.push(state.known(allocation.host));
  return held;
}
