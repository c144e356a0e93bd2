import { errorText } from '../errors/errors.ts';
import type { Rows } from '../cell-state/capacity-tree.ts';
import { AMOUNT_MAX, CPU, DISK, GPU_TOTAL, MEMORY, ROW } from '../cell-state/capacity-tree.ts';
import type { CellIndex } from '../cell-state/cell-index.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import { meets } from '../host/attributes.ts';
import type { Fragmentation } from '../scoring/fragmentation.ts';
import { lossRuleOf } from '../scoring/fragmentation.ts';
import type { GroupCount } from './group-count.ts';
import { mayJoin, opposedTo } from '../cell/interference.ts';
import type { HostSlot } from '../cell-state/host-slot.ts';
import type { Neighbourhood } from './neighbourhood.ts';
import { exactByRow, fitsBeyondRow, needOf, rowFits } from './needs.ts';
import type { PlacementPolicy, ScoreHost, ScoredHost, ScoredWork } from '../scoring/policy.ts';
import { PolicyError } from '../scoring/policy.ts';
import type { PlacementRequest } from './placement-request.ts';
import type { Kept } from '../scoring/model-demand.ts';
import { NOTHING_KEPT } from '../scoring/model-demand.ts';
import type { LeftWeights } from '../scoring/scoring.ts';
import { WEIGHT_FULL } from '../cell/job.ts';
import { gpuLossScore, leftWeights, loadScore } from '../scoring/scoring.ts';
import type { Selection } from '../cell-state/selection.ts';

/** How good a host is for one more allocation of a group, in units of the load score's range. */
export interface ScoreParts {
  /** What its load says, or a policy of somebody's own. */
  readonly load: number;
  /** Affinity, spread, neighbours, and the copies that are there already. */
  readonly preference: number;
}

/** Filters and scores single hosts for one request, from the tables alone. */
export class HostScorer {
  readonly need: Float64Array;
  readonly #index: CellIndex;
  readonly #request: PlacementRequest;
  readonly #policy: PlacementPolicy;
  readonly #selection: Selection;
  readonly #group: GroupCount;
  readonly #fragmentation: Fragmentation | null;
  /** Computed once a decision: what other tasks need does not depend on this job. */
  readonly kept: Kept;
  readonly #exactByRow: boolean;
  /** The row alone decides. */
  readonly #plain: boolean;
  /** The row alone decides among hosts of the stratum where nothing is in the way. */
  readonly isPlainApart: boolean;
  /** Scalars that must not be in use where it goes (`interference.ts`). */
  readonly opposed: readonly string[];
  /** Null: the company on a host is nothing to it. */
  readonly #near: Neighbourhood | null;
  /** More is needed than a tree can show. */
  readonly #isHuge: boolean;
  readonly #weights: LeftWeights;
  /** What the request takes off the emptiness. */
  readonly #asked: number;
  /** Rank of the hosts to avoid; the others have rank 0. Only hosts of the rank `#rank` are accepted. */
  readonly #ranks: ReadonlyMap<number, number>;
  #rank = 0;

  constructor(
    state: CellState,
    request: PlacementRequest,
    policy: PlacementPolicy,
    selection: Selection,
    group: GroupCount,
  ) {
    this.#index = state.index;
    this.#request = request;
    this.#policy = policy;
    this.#selection = selection;
    this.#group = group;
    this.#fragmentation = lossRuleOf(policy);
    const { gpu } = request.ask;
    this.kept = this.#fragmentation?.keptFrom(gpu, state.index.gpuStock) ?? NOTHING_KEPT;
    this.#exactByRow = exactByRow(request.ask, selection);
    this.opposed = opposedTo(request.ask.resources.scalars);
    this.need = state.index.need;
    needOf(request.ask, this.need);
    this.#weights = leftWeights(state.scale);
    this.#asked = this.#emptiness(this.need, 0);
    this.#ranks = ranksOf(request, state);
    this.#isHuge = this.need[DISK]! > AMOUNT_MAX;
    this.#near = group.near !== null && group.near.bonuses.length > 1 ? group.near : null;
    const isRanked = this.#ranks.size > 0;
    this.isPlainApart =
      this.#exactByRow && !isRanked && this.#near === null && !group.forbids && !this.#isHuge;
    this.#plain = this.isPlainApart && selection.all && this.opposed.length === 0;
  }

  /** What is free now, a row a host. */
  get rows(): Float64Array {
    return this.#index.rows;
  }

  /** Accepts the hosts of the next rank instead. @returns false: there is none */
  admitNextRank(): boolean {
    const ranks = [...this.#ranks.values()].filter((rank) => rank > this.#rank);
    if (ranks.length === 0) return false;
    this.#rank = Math.min(...ranks);
    return true;
  }

  /**
   * May the host of the stratum, whose row shows enough and whose company is this, be chosen? `GroupCount.isTaken` is
   * asked later.
   * @param isApart it is known to have no neighbours that are opposed, as far as its ledger was read
   */
  accepts(host: number, stratum: number, company: number, isApart = false): boolean {
    const isUnread = !this.isRead(host);
    if (isUnread && !this.#fitsWhenRead(host)) return false;
    if (this.#plain) return true;
    if (this.#isHuge && !this.shows(host)) return false;
    const { all, stratumOf } = this.#selection;
    if (!all && stratumOf[this.#index.classes.classOf[host]!] !== stratum) return false;
    if (this.#near !== null && this.#near.companyOn(host) !== company) return false;
    if (this.#ranks.size > 0 && (this.#ranks.get(host) ?? 0) !== this.#rank) return false;
    return this.#allowed(host, isApart && !isUnread);
  }

  /** Does the row show the newest ledger that is known? */
  isRead(host: number): boolean {
    return this.#index.unreadCount === 0 || this.#index.unread[host] === 0;
  }

  #fitsWhenRead(host: number): boolean {
    this.#index.read(host);
    this.#index.catchUp();
    return this.shows(host);
  }

  /** Does the host's row show enough? */
  shows(host: number): boolean {
    return rowFits(this.#index.rows, host * ROW, this.need);
  }

  /** After a pick: does the candidate fit another one? */
  stillFits(host: number): boolean {
    return this.shows(host) && this.#allowed(host);
  }

  /** The host's score without what all hosts of its part share. `rows` at `offset` is its row. */
  score(host: number, rows: Rows, offset: number): number {
    const empty = this.#emptiness(rows, offset) - this.#asked;
    let score = this.#load(host, rows, offset, empty) - this.#group.sameHostCostOn(host);
    if (this.#selection.mixed) score += this.#group.preference(this.#index.classes.classOf[host]!);
    if (this.#selection.hostAffinities.length > 0) score += this.#ownAffinity(this.#index.slot(host));
    return score;
  }

  /** The score after a pick. */
  scoreNow(host: number): number {
    return this.score(host, this.#index.rows, host * ROW);
  }

  /** The whole score, what its part shares included; null: the host does not take one more. */
  partsOf(host: number): ScoreParts | null {
    const hostClass = this.#index.classes.classOf[host]!;
    const { all, stratumOf, hostAffinities } = this.#selection;
    if (!all && stratumOf[hostClass]! < 0) return null;
    if (!this.stillFits(host) || this.#group.isTaken(host)) return null;
    const [rows, offset] = [this.#index.rows, host * ROW];
    const affinity = hostAffinities.length > 0 ? this.#ownAffinity(this.#index.slot(host)) : 0;
    const company = this.#near === null ? 0 : this.#near.bonuses[this.#near.companyOn(host)]!;
    return {
      load: this.#load(host, rows, offset, this.#emptiness(rows, offset) - this.#asked),
      preference: this.#group.preference(hostClass) + affinity + company - this.#group.sameHostCostOn(host),
    };
  }

  #load(host: number, rows: Rows, offset: number, empty: number): number {
    const { scoreHost } = this.#policy;
    if (scoreHost !== undefined) return this.#ownScore(scoreHost, host, rows, offset);
    if (this.#fragmentation === null) return loadScore(this.#policy.score, empty);
    const { gpuUsed, host: registered } = this.#index.slot(host);
    const state = { cpuMilli: rows[offset + CPU]!, models: registered?.gpuModels ?? [], usedMilli: gpuUsed };
    const { resources, gpu } = this.#request.ask;
    const loss = this.#fragmentation.leastLoss(state, resources.cpuMilli, gpu, this.kept);
    return gpuLossScore(loss?.lossMilli ?? 0, empty);
  }

  /** What is no number from 0 to 1 is brought there: the search relies on it. */
  #ownScore(scoreHost: ScoreHost, index: number, rows: Rows, offset: number): number {
    const { host } = this.#index.slot(index);
    if (host === undefined) return 0;
    const { namespace, job, group, ask } = this.#request;
    const [cpuMilli, memoryMib, gpuMilli] = [
      rows[offset + CPU]!,
      rows[offset + MEMORY]!,
      rows[offset + GPU_TOTAL]!,
    ];
    const free = { cpuMilli, memoryMib, gpuMilli };
    const score = this.#askPolicy(scoreHost, { host, free }, { namespace, job, group: group.name, ask });
    return score > 0 ? Math.min(score, 1) : 0;
  }

  /** @throws PolicyError */
  #askPolicy(scoreHost: ScoreHost, scored: ScoredHost, work: ScoredWork): number {
    try {
      return scoreHost(scored, work);
    } catch (error) {
      const why = errorText(error);
      throw new PolicyError(`policy ${this.#policy.name} failed on ${scored.host.id}: ${why}`, {
        cause: error,
      });
    }
  }

  #allowed(host: number, isApart = false): boolean {
    if (this.#group.forbids && !this.#group.mayAllow(host)) return false;
    if (!isApart && this.opposed.length > 0 && !mayJoin(this.opposed, this.#index.slot(host).scalars))
      return false;
    if (this.#exactByRow) return true;
    const slot = this.#index.slot(host);
    return slot.host !== undefined && fitsBeyondRow(slot, slot.host, this.#request.ask, this.#selection);
  }

  #emptiness(rows: Rows, offset: number): number {
    const { cpu, memory, gpu } = this.#weights;
    return rows[offset + CPU]! * cpu + rows[offset + MEMORY]! * memory + rows[offset + GPU_TOTAL]! * gpu;
  }

  #ownAffinity({ host }: HostSlot): number {
    let sum = 0;
    for (const { expression, weight } of this.#selection.hostAffinities) {
      if (host !== undefined && meets(host, expression)) sum += weight / WEIGHT_FULL;
    }
    return sum;
  }
}

const NONE: ReadonlyMap<number, number> = new Map();

function ranksOf(
  { avoidHosts, refusingHosts }: PlacementRequest,
  state: CellState,
): ReadonlyMap<number, number> {
  if (avoidHosts.length + refusingHosts.length === 0) return NONE;
  const ranks = new Map<number, number>();
  for (const [rank, ids] of [
    [1, avoidHosts],
    [2, refusingHosts],
  ] as const)
    for (const index of ids.map((id) => state.indexOf(id))) if (index >= 0) ranks.set(index, rank);
  return ranks;
}
