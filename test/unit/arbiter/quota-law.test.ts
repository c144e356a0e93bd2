import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { Arbiter } from '../../../arbiter/arbiter.ts';
import type { AllocationReport } from '../../../src/core/host/report.ts';
import type { StartTerms } from '../../../src/core/quota/ticket.ts';
import { CLOCK_TOLERANCE_MS } from '../../../src/core/quota/ticket.ts';
import { requestFor } from '../../../src/wire/api/arbiter-api.ts';
import { allocationCodec } from '../../../src/wire/records/records.ts';
import { allocationOf, ArbiterWorld, CELL, GRANT_HELD_MS, reportOf } from '../../support/arbiter-world.ts';
import { someTerms } from '../../support/tickets.ts';

const HOSTS = ['host-a', 'host-b'] as const;
const CPU_QUOTA = 1_000;
const ALLOCATIONS_QUOTA = 4;
/** A monitor says within this time that a host is silent. */
const SILENCE_MS = 3_000;

type Act =
  | {
      readonly kind: 'ask';
      readonly host: number;
      readonly cpuMilli: number;
      readonly again: boolean;
      /** Of a gang. */
      readonly members: number;
    }
  | { readonly kind: 'use' | 'end'; readonly which: number }
  | { readonly kind: 'deliver'; readonly host: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'successor' };

/** One namespace's truth: what really runs, and which tickets could still start something. */
class Truth {
  readonly world = new ArbiterWorld();
  readonly tickets = new Map<string, { terms: StartTerms; usableUntilMs: number }>();
  readonly running = new Map<string, StartTerms>();
  /** Said by the host, not yet by the monitor. */
  readonly #unsaid = new Map<string, AllocationReport[]>(HOSTS.map((host) => [host, []]));
  readonly #started = new Set<string>();
  #arbiter: Arbiter | null = null;
  #arbiters = 0;
  #made = 0;
  granted = 0;
  used = 0;
  readonly gangs = { granted: 0, refused: 0 };

  async begin(): Promise<void> {
    for (const host of HOSTS) this.world.addHost(host);
    await this.world.startMonitor();
    await this.world.setQuota({ namespace: 'default', cpuMilli: CPU_QUOTA, allocations: ALLOCATIONS_QUOTA });
    await this.#successor();
    await this.#advance(GRANT_HELD_MS + 2_000);
  }

  async act(act: Act): Promise<void> {
    switch (act.kind) {
      case 'ask':
        return this.#ask(act);
      case 'use':
        return this.#use(act.which);
      case 'end':
        return this.#end(act.which);
      case 'deliver':
        return this.#deliver(HOSTS[act.host % HOSTS.length] ?? 'host-a');
      case 'advance':
        return this.#advance(act.ms);
      case 'successor':
        return this.#successor();
    }
  }

  /** I40: in every dimension, used plus still usable stays within the quota. */
  check(): void {
    const nowMs = this.world.clock.nowMs();
    const usable = [...this.tickets.values()].filter(({ usableUntilMs }) => nowMs <= usableUntilMs);
    const all = [...this.running.values(), ...usable.map(({ terms }) => terms)];
    expect(all.length).toBeLessThanOrEqual(ALLOCATIONS_QUOTA);
    expect(all.reduce((sum, { claim }) => sum + claim.resources.cpuMilli, 0)).toBeLessThanOrEqual(CPU_QUOTA);
  }

  async #ask({ host, cpuMilli, again, members }: Extract<Act, { kind: 'ask' }>): Promise<void> {
    const earlier = again ? [...this.tickets.values()][0]?.terms : undefined;
    const fresh = Array.from({ length: members }, (_, n) =>
      this.#terms(HOSTS[(host + n) % HOSTS.length] ?? 'host-a', cpuMilli),
    );
    // What was granted before may be asked for again beside others.
    const unit = earlier === undefined ? fresh : [...fresh.slice(1), earlier];
    const { answers } = (await this.#arbiter?.tickets(
      requestFor(earlier?.scheduler ?? 'batch-1', [unit]),
    )) ?? {
      answers: [],
    };
    const granted = answers.filter((answer) => 'ticket' in answer);
    // A gang is granted whole or not at all.
    expect([0, unit.length]).toContain(granted.length);
    if (unit.length > 1) this.gangs[granted.length === 0 ? 'refused' : 'granted'] += 1;
    for (const [n, answer] of granted.entries()) await this.#hold(unit[n], answer.expiresMs);
  }

  async #hold(terms: StartTerms | undefined, expiresMs: number): Promise<void> {
    this.granted += 1;
    if (terms === undefined || this.#started.has(terms.claim.id)) return;
    // The order of every scheduler: ticket, commit, start.
    await this.world.put(this.#key(terms), allocationCodec.encode(allocationOf(terms)));
    this.tickets.set(terms.claim.id, { terms, usableUntilMs: expiresMs + CLOCK_TOLERANCE_MS });
  }

  #key({ namespace, job, claim }: StartTerms): string {
    return CELL.allocation(namespace, job, claim.id);
  }

  async #release({ id, namespace, job }: AllocationReport | { id: string; namespace: string; job: string }) {
    const writes = [{ kind: 'delete' as const, key: CELL.allocation(namespace, job, id) }];
    await this.world.store.attempt({ compares: [], writes, readBack: [] });
  }

  #terms(host: string, cpuMilli: number): StartTerms {
    this.#made += 1;
    const base = someTerms({ aud: host });
    const resources = { ...base.claim.resources, cpuMilli };
    return {
      ...base,
      claim: { ...base.claim, id: `a${String(this.#made)}`, resources, gpus: [], ports: {} },
    };
  }

  async #use(which: number): Promise<void> {
    const ids = [...this.tickets.keys()];
    const id = ids[which % Math.max(1, ids.length)];
    const ticket = id === undefined ? undefined : this.tickets.get(id);
    if (id === undefined || ticket === undefined) return;
    this.tickets.delete(id);
    // The host refuses it, and the scheduler takes the claim back.
    if (this.world.clock.nowMs() > ticket.usableUntilMs) return this.#release({ ...ticket.terms, id });
    this.used += 1;
    this.#started.add(id);
    this.running.set(id, ticket.terms);
    this.#say(ticket.terms, {});
  }

  #end(which: number): void {
    const ids = [...this.running.keys()];
    const id = ids[which % Math.max(1, ids.length)];
    const terms = id === undefined ? undefined : this.running.get(id);
    if (id === undefined || terms === undefined) return;
    this.running.delete(id);
    this.#say(terms, { state: 'complete', released: true });
  }

  #say(terms: StartTerms, changes: Partial<AllocationReport>): void {
    this.#unsaid.get(terms.aud)?.push(reportOf(terms, changes));
  }

  async #deliver(host: string): Promise<void> {
    const said = this.#unsaid.get(host) ?? [];
    if (said.length === 0 && this.world.silent.has(host)) this.world.addHost(host, [...this.#listed(host)]);
    this.world.silent.delete(host);
    for (const report of said.splice(0)) {
      this.world.report(report);
      if (report.released) await this.#release(report);
    }
    await this.world.clock.advance(0);
  }

  *#listed(host: string): IterableIterator<AllocationReport> {
    for (const terms of this.running.values()) if (terms.aud === host) yield reportOf(terms);
  }

  async #advance(ms: number): Promise<void> {
    await this.world.clock.advance(Math.min(ms, SILENCE_MS));
    for (const host of HOSTS)
      if ((this.#unsaid.get(host) ?? []).length > 0 && !this.world.silent.has(host)) this.world.silence(host);
    if (ms > SILENCE_MS) await this.world.clock.advance(ms - SILENCE_MS);
  }

  async #successor(): Promise<void> {
    await this.#arbiter?.close();
    this.#arbiters += 1;
    this.#arbiter = (await this.world.startArbiter(`arbiter-${String(this.#arbiters)}`)).arbiter;
    await this.#advance(100);
  }
}

const acts: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      host: fc.nat(1),
      cpuMilli: fc.integer({ min: 1, max: 600 }),
      again: fc.boolean(),
      members: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom('use' as const, 'use' as const, 'end' as const),
      which: fc.nat(9),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('deliver' as const), host: fc.nat(1) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(10, 1_000, 20_000, 33_000, 60_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'successor' as const }) },
);

describe('the quota law', () => {
  it('I40 I41 S4.18 used and usable stay within the quota, through silence, expiry and successors', async () => {
    let granted = 0;
    let used = 0;
    const gangs = { granted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(acts, { minLength: 20, maxLength: 50, size: 'max' }), async (script) => {
        const truth = new Truth();
        await truth.begin();
        for (const act of script) {
          await truth.act(act);
          truth.check();
        }
        granted += truth.granted;
        used += truth.used;
        gangs.granted += truth.gangs.granted;
        gangs.refused += truth.gangs.refused;
        await truth.world.close();
      }),
      { numRuns: 80 },
    );
    expect(granted).toBeGreaterThan(200);
    expect(used).toBeGreaterThan(20);
    expect(Math.min(gangs.granted, gangs.refused)).toBeGreaterThan(20);
  });
});
