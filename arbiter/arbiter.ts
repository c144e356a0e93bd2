/**
 * Grants tickets. What happens to a request, in order:
 *
 * - `routes.ts`: the API; a request names placements, some of which belong together; `traced-tickets.ts` records it in their traces
 * - `arbiter.ts`: decides each placement, holds its grant, records what counts against a quota, and signs the tickets of
 *   all together
 * - `decide.ts`: the decision, from what is used, granted and allowed
 * - `limits.ts`: the operators' quotas and pauses, live
 * - `usage-book.ts`: what hosts report as in use
 * - `report-lag.ts`: how long what a host says may take to get here
 * - `grant-book.ts`: what was granted and is not yet reported as used; `grant-records.ts` has it in the store
 * - `quota-keeper.ts`: of several arbiters one keeps the quotas
 * - `fetch-slices.ts`: the rates at which hosts fetch artifacts, which the same one keeps
 * - `peer-grants.ts`: what other arbiters granted before, as a new keeper learns it; `other-arbiters.ts` asks those that live
 * - `main.ts`: runs an arbiter on this machine
 */
import { makeId } from '../src/core/cell/ids.ts';
import type { RoleRecord } from '../src/core/cell/cell.ts';
import type { StartTerms, TicketBody } from '../src/core/quota/ticket.ts';
import { TICKET_TTL_MS } from '../src/core/quota/ticket.ts';
import type { TicketSigner } from '../src/ports/crypto.ts';
import { ArbiterClient } from '../src/clients/arbiter-client.ts';
import type { HttpClient } from '../src/ports/http.ts';
import { every } from '../src/runtime/wait/wait.ts';
import type { RolePorts } from '../src/runtime/runtime.ts';
import type { Instant } from '../src/runtime/reports/cell-view.ts';
import { ReportFollower } from '../src/runtime/reports/reports.ts';
import { Table } from '../src/runtime/records/records.ts';
import type {
  FetchSlice,
  FetchSliceRequest,
  GrantListing,
  GrantRefusal,
  TicketAnswer,
  TicketGrant,
  TicketRequest,
} from '../src/wire/api/arbiter-api.ts';
import { unitsOf } from '../src/wire/api/arbiter-api.ts';
import { roleCodec } from '../src/wire/records/records.ts';
import { amountsOf, NO_AMOUNTS } from '../src/core/quota/amounts.ts';
import { grantOf } from '../src/core/quota/grant.ts';
import { grantRefusal, notRecorded } from './decide.ts';
import { FetchSlices } from './fetch-slices.ts';
import type { HostReachability } from './grant-book.ts';
import { GrantBook, GRANTS_MAX } from './grant-book.ts';
import { GrantRecords } from './grant-records.ts';
import { OtherArbiters } from './other-arbiters.ts';
import { PeerGrants } from './peer-grants.ts';
import { QuotaKeeper } from './quota-keeper.ts';
import { Limits } from './limits.ts';
import { reportLagMs } from './report-lag.ts';
import { UsageBook } from './usage-book.ts';

export interface ArbiterDeps extends RolePorts {
  readonly http: HttpClient;
  readonly signer: TicketSigner;
  readonly record: Omit<RoleRecord, 'address'>;
  readonly options: ArbiterOptions;
}

export interface ArbiterOptions {
  readonly sessionTtlMs: number;
  /** For tests of the report path; the follower's own default when absent. */
  readonly silenceMs?: number;
}

const SWEEP_MS = 1_000;
/** Chance that the id of one ticket takes. */
const ID_BYTES = 16;

interface Decision {
  readonly terms: StartTerms;
  /** null: it is granted, and held. */
  readonly refusal: GrantRefusal | null;
  /** Its namespace has a quota. */
  readonly isLimited: boolean;
  /** It was not held before. */
  readonly isHeld: boolean;
}

/** Is it to be recorded before its ticket goes out? */
function isUnderQuota({ refusal, isLimited }: Decision): boolean {
  return refusal === null && isLimited;
}

/**
 * A ticket is the permission to start one allocation on one host, soon. A namespace has what the hosts report, merged by the
 * monitors, and what was granted and is not yet reported; the sum stays within its quota (I40).
 *
 * Deciding and holding happen in one turn of the event loop, so two requests cannot both get the last of a quota. Placements
 * that belong together (a run's) are granted all or none. What counts against a quota is in the store before its ticket goes
 * out, so that the next keeper goes on at once; namespaces without a quota wait for no write. A quota is free again with
 * the host's release, which the host reports before the store has it. See docs/decisions/tickets-and-quotas.md.
 */
export class Arbiter {
  readonly #deps: ArbiterDeps;
  readonly #grants: GrantBook;
  readonly #records: GrantRecords;
  readonly #use = new UsageBook();
  readonly #limits: Limits;
  readonly #keeper: QuotaKeeper;
  readonly #monitors: Table<RoleRecord>;
  readonly #others: OtherArbiters;
  readonly #reports: ReportFollower;
  readonly #peers: PeerGrants;
  readonly #fetches = new FetchSlices();
  #limitsReady = false;
  #stopSweep: () => void = () => undefined;

  constructor(deps: ArbiterDeps) {
    this.#deps = deps;
    const { store, keys, clock, log } = deps;
    const lagMs = (): number => reportLagMs(this.#reports.hostSilenceMs);
    this.#others = new OtherArbiters({
      ...{ store, keys, clock, id: deps.record.id, client: new ArbiterClient(deps.http), lagMs },
    });
    this.#records = new GrantRecords({
      ...deps,
      arbiter: deps.record.id,
      onReplaced: (fence) => this.#keeper.replaced(fence),
    });
    this.#grants = new GrantBook(lagMs, (key) => this.#records.ended(key));
    this.#peers = new PeerGrants({
      ...{ store, keys, clock, log, book: this.#grants, records: this.#records, lagMs },
      namespaces: () => this.#limits.namespaces(),
      quotaRevision: (namespace) => this.#limits.quotaRevision(namespace),
      isReported: (host, id) => this.#reports.view.get(host, id) !== undefined,
      now: () => this.#now(),
      others: this.#others,
    });
    this.#limits = new Limits(store, keys, log, (...change) => this.#onQuota(...change));
    this.#keeper = new QuotaKeeper({
      ...deps,
      ...deps.options,
      onKeeping: (fence) => this.#peers.restart(fence),
    });
    this.#reports = this.#makeFollower();
    this.#monitors = new Table(store, keys.role('monitor', ''), roleCodec, {
      onChange: () => this.#limitsReady && this.#reports.refresh(),
    });
  }

  /**
   * Resolves when the limits are known; the API is to be used only then.
   * @param address where its API listens
   * @returns `ended` rejects when the store refuses this arbiter for good
   */
  async start(address: string): Promise<{ readonly ended: Promise<void> }> {
    await Promise.all([this.#limits.ready, this.#monitors.ready, this.#others.ready]);
    this.#limitsReady = true;
    this.#reports.refresh();
    this.#sweep();
    this.#stopSweep = every(this.#deps.clock, SWEEP_MS, () => this.#sweep());
    return { ended: this.#keeper.start(address) };
  }

  /** Lets another arbiter keep the quotas; what needs none is granted on. */
  async handOver(): Promise<void> {
    await this.#keeper.close();
  }

  async close(): Promise<void> {
    this.#stopSweep();
    this.#limits.close();
    this.#monitors.close();
    this.#others.close();
    await Promise.all([this.#reports.close(), this.#keeper.close()]);
  }

  /** What is missing before this arbiter can answer for every namespace; empty when nothing is. */
  get missing(): readonly string[] {
    const parts: string[] = [];
    if (!this.#limitsReady) parts.push('limits');
    if (!this.#keeper.registered) parts.push('session');
    if (!this.#reports.view.complete) parts.push('view');
    return parts;
  }

  async tickets(request: TicketRequest): Promise<TicketAnswer> {
    // Decided and held before the first wait.
    const now = this.#now();
    const decided = unitsOf(request).flatMap((unit) => this.#decide(unit, now));
    const decisions = decided.some(isUnderQuota) ? await this.#recorded(decided) : decided;
    this.#countDecisions(decisions);
    const answers = await this.#answer(decisions, now);
    const limited = new Set(decided.filter(({ isLimited }) => isLimited).map(({ terms }) => terms.namespace));
    return limited.size === 0 ? { answers } : { answers, limited: [...limited] };
  }

  /** null: another arbiter keeps the rates, or none does yet. */
  fetchSlice({ attributes }: FetchSliceRequest): FetchSlice | null {
    const { fence } = this.#keeper;
    if (fence === null || !this.#limitsReady) return null;
    const { monotonicMs: nowMs } = this.#now();
    return this.#fetches.next(attributes, this.#limits.shared(), { fence, nowMs });
  }

  grants(): GrantListing {
    const names = new Set([
      ...this.#use.namespaces(),
      ...this.#grants.namespaces(),
      ...this.#limits.namespaces(),
    ]);
    const namespaces = [...names].sort().map((namespace) => ({
      namespace,
      used: this.#use.used(namespace),
      granted: this.#grants.granted(namespace),
      quota: this.#shownQuota(namespace),
    }));
    return { namespaces };
  }

  #shownQuota(namespace: string): GrantListing['namespaces'][number]['quota'] {
    const quota = this.#limits.quota(namespace);
    if (quota === null) return null;
    const { cpuMilli, memoryMib, gpuMilli, allocations } = quota;
    const limits = Object.entries({ cpuMilli, memoryMib, gpuMilli, allocations });
    return Object.fromEntries(limits.filter(([, limit]) => limit !== null));
  }

  /** Holds all of the unit, or nothing of it. */
  #decide(unit: readonly StartTerms[], now: Instant): readonly Decision[] {
    const held = new Set<StartTerms>();
    const refusal = this.#holdAll(unit, held, now);
    const isLimited = unit.some(({ namespace }) => this.#limits.quota(namespace) !== null);
    return unit.map((terms) => ({ terms, refusal, isLimited, isHeld: held.has(terms) }));
  }

  /** What is granted against quotas goes to the store first; without that it is not granted. */
  async #recorded(decided: readonly Decision[]): Promise<readonly Decision[]> {
    const granted = decided.filter(isUnderQuota);
    const grants = granted
      .filter(({ terms }) => !this.#isReported(terms))
      .map(({ terms }) => grantOf(terms.namespace, terms.job, terms.claim));
    const { fence } = this.#keeper;
    if (grants.length === 0 || (await this.#records.record(grants, fence))) return decided;
    // Another request may have been granted the same one meanwhile.
    const isOurs = ({ terms, isHeld }: Decision): boolean =>
      isHeld && !this.#records.has(terms.aud, terms.claim.id);
    this.#giveBack(granted.filter(isOurs).map(({ terms }) => terms));
    const refusal = notRecorded(this.#keeper.otherKeeper);
    return decided.map((decision) => (isUnderQuota(decision) ? { ...decision, refusal } : decision));
  }

  /** Their tickets are never handed out. */
  #giveBack(held: Iterable<StartTerms>): void {
    for (const { aud, claim } of held) this.#grants.settle(aud, claim.id);
  }

  #countDecisions(decisions: readonly Decision[]): void {
    const counts = new Map<string, number>();
    for (const { refusal } of decisions) {
      const decision = refusal?.code ?? 'granted';
      counts.set(decision, (counts.get(decision) ?? 0) + 1);
    }
    for (const [decision, count] of counts)
      this.#deps.metrics.count('moorage_tickets_total', { decision }, count);
  }

  /** @param held gets those that were not held before */
  #holdAll(unit: readonly StartTerms[], held: Set<StartTerms>, now: Instant): GrantRefusal | null {
    for (const terms of unit) {
      const refusal = this.#refusal(terms);
      if (refusal !== null) {
        this.#giveBack(held);
        held.clear();
        return refusal;
      }
      if (this.#isReported(terms)) continue;
      if (this.#grants.heldFor(terms) === null) held.add(terms);
      this.#grants.hold(grantOf(terms.namespace, terms.job, terms.claim), now);
    }
    return null;
  }

  #isReported({ aud, claim }: StartTerms): boolean {
    return this.#reports.view.get(aud, claim.id) !== undefined;
  }

  #refusal(terms: StartTerms): GrantRefusal | null {
    const { namespace } = terms;
    if (!this.#limitsReady)
      return { code: 'starting', detail: 'the limits are not read yet', retryAfterMs: SWEEP_MS };
    const counted = this.#isReported(terms);
    const held = this.#grants.heldFor(terms);
    return grantRefusal({
      pause: this.#limits.pauses.on('placement', { namespace, job: terms.job, host: terms.aud }),
      quota: this.#limits.quota(namespace),
      otherKeeper: this.#keeper.otherKeeper,
      holdMs: this.#peers.holdMs(namespace),
      viewComplete: this.#reports.view.complete,
      used: this.#use.used(namespace),
      granted: this.#grants.granted(namespace),
      asked: counted ? NO_AMOUNTS : beyond(amountsOf(terms.claim), held ?? NO_AMOUNTS),
      grantsFull: held === null && this.#grants.size >= GRANTS_MAX,
    });
  }

  /** Signs all that is granted at once. */
  async #answer(decisions: readonly Decision[], { wallMs: nowMs }: Instant): Promise<readonly TicketGrant[]> {
    const { random, signer } = this.#deps;
    const expiresMs = nowMs + TICKET_TTL_MS;
    const granted = decisions.filter(({ refusal }) => refusal === null);
    const chance = random.bytes(ID_BYTES * granted.length);
    const bodies = granted.map(({ terms }, at): TicketBody => ({
      ...terms,
      jti: makeId(nowMs, chance, ID_BYTES * at),
      notBeforeMs: nowMs,
      expiresMs,
    }));
    // When signing fails the grants are held until their end: an earlier ticket of the same allocation may be out.
    const tickets = (await signer.sign(bodies)).values();
    return decisions.map(({ terms: { claim }, refusal }) =>
      refusal === null
        ? { id: claim.id, ticket: tickets.next().value ?? '', expiresMs }
        : { id: claim.id, refusal },
    );
  }

  /** A namespace got a new quota: until now every arbiter could grant in it. */
  #onQuota(namespace: string, revision: number | null): void {
    if (revision === null) this.#peers.drop(namespace);
    else this.#peers.wait(namespace);
  }

  #sweep(): void {
    this.#grants.sweep(this.#now(), this.#reachability);
    this.#peers.sweep();
    this.#records.flush();
    this.#deps.metrics.gauge('moorage_arbiter_grants', this.#grants.size);
  }

  /** An incomplete view proves nothing: a monitor sends what it knows of a host before it says that the host is silent. */
  readonly #reachability: HostReachability = (host) => {
    const { view } = this.#reports;
    if (!view.complete) return 'silent';
    const freshness = view.host(host);
    if (freshness === undefined) return 'unknown';
    return freshness.asOfMs !== null && freshness.staleSinceMs === null ? 'reporting' : 'silent';
  };

  #now(): Instant {
    return { monotonicMs: this.#deps.clock.monotonicMs(), wallMs: this.#deps.clock.nowMs() };
  }

  #makeFollower(): ReportFollower {
    const { http, clock, random, log, options } = this.#deps;
    return new ReportFollower({
      http,
      clock,
      random,
      log,
      sources: () => [...this.#monitors.rows()].map(([name, { value }]) => ({ name, url: value.address })),
      handlers: {
        onReport: (report, previous) => {
          this.#grants.settle(report.host, report.id);
          this.#use.onReport(report, previous);
        },
        onGone: (previous) => {
          this.#use.onGone(previous);
          this.#peers.forgotten(previous.host, previous.id);
        },
      },
      options: {
        mode: 'any-one',
        ...(options.silenceMs === undefined ? {} : { silenceMs: options.silenceMs }),
      },
    });
  }
}

/** What a renewed grant takes beyond what is held for the same allocation. */
function beyond(
  asked: ReturnType<typeof amountsOf>,
  held: ReturnType<typeof amountsOf>,
): ReturnType<typeof amountsOf> {
  return {
    cpuMilli: Math.max(0, asked.cpuMilli - held.cpuMilli),
    memoryMib: Math.max(0, asked.memoryMib - held.memoryMib),
    gpuMilli: Math.max(0, asked.gpuMilli - held.gpuMilli),
    allocations: asked.allocations - held.allocations,
  };
}
