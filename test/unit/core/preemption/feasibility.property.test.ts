import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { preemptionHosts } from '../../../../src/core/preemption/preemption.ts';
import { refusalOf } from '../../../../src/core/placement/filters.ts';
import { HeldCount } from '../../../support/placement-walk.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import type { PlacementRequest } from '../../../../src/core/placement/placement-request.ts';
import {
  amounts,
  chanceOf,
  expr,
  makeCell,
  makeClaim,
  makeGroup,
  makeHost,
  makeRequest,
  makeShared,
} from '../placement/placement-fixtures.ts';

/** More than a search asks before it keeps to the hosts that the request's rules allow. */
const HOSTS = 1_300;
const ZONES = 5;
const idOf = (n: number): string => `h${String(n)}`;

/** Rules that may leave all, some, one or none of the hosts. */
type Rule =
  | { readonly kind: 'none' | 'class' | 'not-id' | 'port' | 'pool' }
  | { readonly kind: 'distinct'; readonly by: 'id' | 'zone'; readonly left: number }
  | { readonly kind: 'avoid' | 'excluded'; readonly left: number };

const left = fc.constantFrom(0, 1, 3);
const anyRule: fc.Arbitrary<Rule> = fc.oneof(
  fc.record({ kind: fc.constantFrom('none', 'class', 'not-id', 'port', 'pool') }),
  fc.record({ kind: fc.constant('distinct' as const), by: fc.constantFrom('id', 'zone'), left }),
  fc.record({ kind: fc.constantFrom('avoid', 'excluded'), left }),
);

interface Case {
  readonly state: CellState;
  readonly request: PlacementRequest;
  readonly excluded: ReadonlySet<string>;
}

/** Full hosts, of which `weak` hold work that can be preempted; the others hold only work of high precedence. */
function caseOf(rules: readonly Rule[], rare: number, weak: ReadonlySet<number> | null, at: number): Case {
  const state = makeCell(
    Array.from({ length: HOSTS }, (_, n) =>
      makeHost(idOf(n), {
        portRange: (n - at + HOSTS) % HOSTS < rare ? { first: 100, last: 101 } : { first: 200, last: 201 },
        attributes: {
          zone: `z${String(n % ZONES)}`,
          class: (n - at + HOSTS) % HOSTS < rare ? 'rare' : 'usual',
        },
      }),
    ),
  );
  state.pools.define('uplink', makeShared('uplink', 'host.zone', 100), 1);
  for (let n = 0; n < HOSTS; n++) {
    const precedence = weak === null || weak.has(n) ? 10 : 90;
    const claim = makeClaim('x', idOf(n), { precedence, resources: amounts(4000, 8192) });
    state.setLedger(idOf(n), withClaim(EMPTY_LEDGER, claim), 1);
  }
  let group = makeGroup();
  let part: Parameters<typeof makeRequest>[0] = {};
  let excluded = new Set<string>();
  for (const rule of rules) {
    const { kind } = rule;
    if (kind === 'class')
      group = { ...group, constraints: [...group.constraints, expr('class', '==', 'rare')] };
    if (kind === 'not-id')
      group = { ...group, constraints: [...group.constraints, expr('id', '!=', idOf(at))] };
    if (kind === 'port') part = { ...part, ports: { http: 100 } };
    if (kind === 'pool') {
      part = { ...part, shared: { uplink: 50 } };
      for (let zone = 0; zone < ZONES; zone++)
        if (zone !== at % ZONES) state.pools.observe(`uplink/z${String(zone)}`, 80, 2);
    }
    if (!('left' in rule)) continue;
    const spared = (n: number): boolean => (n - at + HOSTS) % HOSTS < rule.left;
    const others = Array.from({ length: HOSTS }, (_, n) => n).filter((n) => !spared(n));
    if (kind === 'avoid') part = { ...part, avoidHosts: others.map(idOf) };
    else if (kind === 'excluded') excluded = new Set(others.map(idOf));
    else if ('by' in rule) {
      group = { ...group, distinct: [rule.by] };
      const held =
        rule.by === 'id' ? others : others.filter((n) => n % ZONES !== at % ZONES || rule.left === 0);
      part = { ...part, hostsHeld: held.map((n) => state.known(idOf(n))) };
    }
  }
  return { state, request: makeRequest({ ...part, group, precedence: 50 }), excluded };
}

/** The plain walk: hosts that take the request once all below its precedence is gone, and something is. */
function byWalk({ state, request, excluded }: Case): Set<string> {
  const held = new HeldCount(request.group);
  for (const { id } of request.hostsHeld) held.add(state.hostOf(id)!);
  const avoided = new Set(request.avoidHosts);
  const named = new Set<string>();
  for (const view of state.views()) {
    const { id } = view.host;
    const isWeak = view.ledger.bands.some(({ precedence }) => precedence < request.precedence);
    if (!isWeak || excluded.has(id) || avoided.has(id)) continue;
    // Every host holds one claim, so that nothing is left of it.
    const emptied = { ...view, ledger: EMPTY_LEDGER };
    if (refusalOf(emptied, request, held.byValue) === null) named.add(id);
  }
  return named;
}

describe('finding hosts to evict on in a cell of many', () => {
  it('S3.15 finds one if and only if the walk over all hosts does, whatever rules exclude the others', () => {
    const law = fc.property(
      fc.array(anyRule, { maxLength: 2 }),
      fc.constantFrom(0, 1, 2, 40, 400),
      fc.option(fc.array(fc.nat(HOSTS - 1), { maxLength: 3 })),
      fc.nat(HOSTS - 1),
      fc.nat(),
      (rules, rare, weak, at, seed) => {
        const drawn = caseOf(rules, rare, weak === null ? null : new Set([at, ...weak]), at);
        const { state, request, excluded } = drawn;
        const wanted = byWalk(drawn);
        const found = preemptionHosts(state, request, chanceOf(seed), { excluded, most: 16 });
        for (const id of found) expect([...wanted]).toContain(id);
        if (wanted.size > 0) expect(found).not.toEqual([]);
      },
    );
    fc.assert(law, { numRuns: 60 });
  });
});
