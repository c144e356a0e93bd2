import type { Allocation } from '../../src/core/cell/allocation.ts';
import { slotName } from '../../src/core/cell/ids.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { Placement, PlacementRequest } from '../../src/core/placement/placement-request.ts';
import { place } from '../../src/core/placement/placement.ts';
import type { ScoreParts } from '../../src/core/placement/host-scorer.ts';
import { scorePartsOf, withoutClaim } from '../../src/core/placement/score-parts.ts';
import { claimOf } from '../../src/core/quota/ticket.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';
import { PolicyError } from '../../src/core/scoring/policy.ts';
import { whyNotRebalanced } from '../../src/core/slots/movable.ts';
import { isUp } from '../../src/core/slots/rollout.ts';
import type { PlanMove } from '../../src/wire/plan/plan.ts';
import type { Decider } from '../decide/decide.ts';
import type { Placer } from '../decide/placer.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { wallMs } from '../state/state.ts';
import type { TimeSlice } from '../../src/runtime/wait/time-slice.ts';
import type { ScratchCell } from './scratch-cell.ts';

/** A move stops something that runs: for less than this, in units of the load score's range, nothing is moved. */
const GAIN_MIN = 0.1;
/** What a group prefers outweighs any load: what is gained is that a failure takes less of a job, or what its author asked for. */
const PREFERENCE_FACTOR = 10;

export interface RebalanceParts {
  readonly decider: Pick<Decider, 'evaluationOf'>;
  readonly placer: Pick<Placer, 'memberRequest'>;
  readonly isPaused: (job: OwnedJob) => boolean;
}

/** One group, and where its allocations are while moves are tried. */
interface GroupAt {
  readonly job: OwnedJob;
  /** With its preferences outweighing loads. */
  readonly group: Group;
  readonly hostOf: Map<string, string>;
}

interface Movable {
  readonly allocation: Allocation;
  readonly at: GroupAt;
}

interface Proposal extends Movable {
  readonly placement: Placement;
  /** What decides the order, and what is told. */
  readonly rank: number;
  readonly gain: number;
  readonly reason: string;
}

/**
 * Which allocations would be better elsewhere: those for which this scheduler, asked to place them now, would prefer another
 * host by a margin. The best one first, then again in the cell as it would be then. Where the scores pack hosts, load alone
 * moves nothing: to pack them closer is no gain for what runs.
 */
export class Rebalance {
  readonly #term: Term;
  readonly #cell: ScratchCell;
  readonly #parts: RebalanceParts;
  readonly #policy: PlacementPolicy;
  readonly #levels: boolean;

  constructor(term: Term, cell: ScratchCell, parts: RebalanceParts) {
    this.#term = term;
    this.#cell = cell;
    this.#parts = parts;
    const { placement } = term.options;
    this.#policy = { ...placement, sameHostCost: placement.sameHostCost * PREFERENCE_FACTOR };
    this.#levels = placement.score === 'spread' || placement.scoreHost !== undefined;
  }

  /** @param untilMs gives up then (monotonic) */
  async moves(
    jobs: Iterable<OwnedJob>,
    budget: number,
    { slice, untilMs }: { readonly slice: TimeSlice; readonly untilMs: number },
  ): Promise<{ readonly moves: readonly PlanMove[]; readonly isWhole: boolean }> {
    const { clock } = this.#term.world;
    const queue: Proposal[] = [];
    const moves: PlanMove[] = [];
    for (const job of jobs)
      for (const one of this.#movableOf(job)) {
        if (slice.step()) await slice.yield();
        if (clock.monotonicMs() >= untilMs) return { moves, isWhole: false };
        const proposal = this.#proposalFor(one);
        if (proposal !== null) queue.push(proposal);
      }
    queue.sort((a, b) => b.rank - a.rank);
    let looks = 0;
    while (moves.length < budget) {
      const best = queue.shift();
      if (best === undefined) break;
      if (slice.step()) await slice.yield();
      if (clock.monotonicMs() >= untilMs) return { moves, isWhole: false };
      // Moves before this one have changed the cell.
      const now = this.#proposalFor(best);
      if (now === null) continue;
      const after = queue.findIndex(({ rank }) => rank <= now.rank);
      // In a large cell a search draws hosts, and each time finds other ones.
      if (after > 0 || (after < 0 && queue.length > 0)) looks += 1;
      else looks = 0;
      if (looks === 0 || looks > queue.length + 1) moves.push(this.#apply(now));
      else queue.splice(after < 0 ? queue.length : after, 0, now);
    }
    return { moves, isWhole: true };
  }

  /** What of the job may be moved now: whole groups only, of which all is up and nothing is about to change. */
  #movableOf(job: OwnedJob): readonly Movable[] {
    const { record } = job;
    if (job.dropped || job.stale || job.finishing || job.partlyLoaded) return [];
    if (record.desired !== 'run' || this.#parts.isPaused(job)) return [];
    const groups = Object.values(record.job.groups).filter(
      (group) => whyNotRebalanced(record.job, group) === null,
    );
    if (groups.length === 0) return [];
    const { fills, stops, rollouts, rollout, unplaceable } = this.#parts.decider.evaluationOf(
      job,
      wallMs(this.#term.world),
    );
    const isChanging = fills.length + stops.length + rollouts.length + unplaceable.length > 0;
    if (isChanging || (rollout !== null && rollout.state !== 'done')) return [];
    return groups.flatMap((group) => this.#membersOf(job, group));
  }

  #membersOf(job: OwnedJob, group: Group): readonly Movable[] {
    const entries = [...job.entries.values()].filter(({ allocation }) => allocation.group === group.name);
    const isWell = entries.every(
      ({ allocation, report, isUnverified }) =>
        allocation.desired === 'run' &&
        !isUnverified &&
        report !== null &&
        isUp(report) &&
        this.#cell.condition(allocation.host).state === 'ready',
    );
    if (!isWell || entries.length !== group.count) return [];
    const hostOf = new Map(entries.map(({ allocation }) => [allocation.id, allocation.host]));
    const at = { job, group: preferring(group), hostOf };
    return entries.map(({ allocation }) => ({ allocation, at }));
  }

  #proposalFor(one: Movable): Proposal | null {
    const { allocation, at } = one;
    const { state } = this.#cell;
    try {
      return withoutClaim(state, claimOf(allocation), () =>
        this.#compared(one, this.#request(allocation, at)),
      );
    } catch (error) {
      // A policy of somebody's own that throws: its jobs stay where they are.
      if (error instanceof PolicyError) return null;
      throw error;
    }
  }

  #request(allocation: Allocation, { job, group, hostOf }: GroupAt): PlacementRequest {
    const others = [...hostOf].filter(([id]) => id !== allocation.id);
    const hostsHeld = others.map(([, host]) => this.#cell.state.known(host));
    return { ...this.#parts.placer.memberRequest(job, group), hostsHeld };
  }

  #compared(one: Movable, request: PlacementRequest): Proposal | null {
    const { state } = this.#cell;
    const from = one.allocation.host;
    const [placement] = place(state, request, this.#term.world.random, this.#policy).chosen;
    if (placement === undefined || placement.host === from) return null;
    const [here, there] = scorePartsOf(state, request, this.#policy, [from, placement.host]);
    if (here == null || there == null) return null;
    const preference = (there.preference - here.preference) / PREFERENCE_FACTOR;
    const load = there.load - here.load;
    const isPreferred = preference >= GAIN_MIN;
    if (!isPreferred && !(this.#levels && preference >= 0 && load >= GAIN_MIN)) return null;
    return {
      ...{ ...one, placement },
      rank: rankOf(there) - rankOf(here),
      gain: preference + (this.#levels ? load : 0),
      reason: isPreferred ? whyPreferred(one, placement.host) : this.#whyLoad(from, placement.host),
    };
  }

  #whyLoad(from: string, to: string): string {
    const { name, scoreHost } = this.#term.options.placement;
    if (scoreHost !== undefined) return `policy ${name} scores ${to} higher than ${from}`;
    return `${from} is fuller than ${to}`;
  }

  /** In the copy of the cell: its place is free, and the other one taken. */
  #apply({ allocation, at, placement, gain, reason }: Proposal): PlanMove {
    const claim = { ...claimOf(allocation), ...placedAs(placement), id: `${allocation.id}-moved` };
    this.#cell.free(claimOf(allocation));
    this.#cell.state.assume(claim);
    this.#cell.placed(claim);
    at.hostOf.set(allocation.id, placement.host);
    const { namespace, job, group, index, id, host } = allocation;
    return {
      ...{ namespace, job, slot: slotName(job, group, index), allocation: id, from: host },
      ...{ to: placement.host, gain: Math.round(gain * 100) / 100, reason },
    };
  }
}

function placedAs({ host, gpus, ports }: Placement) {
  return { host, gpus, ports };
}

function rankOf({ load, preference }: ScoreParts): number {
  return preference + load;
}

function preferring(group: Group): Group {
  const more = <T extends { readonly weight: number }>(all: readonly T[]): readonly T[] =>
    all.map((one) => ({ ...one, weight: one.weight * PREFERENCE_FACTOR }));
  const { affinities, spread, near } = group;
  const wished = { ...group, affinities: more(affinities), spread: more(spread) };
  return near === undefined ? wished : { ...wished, near: more(near) };
}

function whyPreferred({ allocation, at }: Movable, to: string): string {
  const on = (host: string): number => [...at.hostOf.values()].filter((other) => other === host).length;
  const { host } = allocation;
  if (on(host) > on(to) + 1)
    return `${String(on(host))} of group ${at.group.name} are on ${host}, ${on(to) === 0 ? 'none' : String(on(to))} on ${to}`;
  return `group ${at.group.name} prefers ${to}: its spread, affinity or neighbours`;
}
