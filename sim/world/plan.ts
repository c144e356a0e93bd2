import type { SeededRandom } from '../../src/core/random/random.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { Targets } from '../nemesis/fault-plan.ts';
import { drawFaults } from '../nemesis/fault-plan.ts';
import type { Fault } from '../nemesis/fault.ts';
import type { WorldOptions } from './options.ts';
import type { Scenario } from './scenario.ts';
import type { Request } from '../actor/client.ts';
import { isRead, requestsOf, writing } from './scenario.ts';

/** All that happens to a run from outside; known before it begins, so that it can be repeated with less. */
export interface WorldPlan {
  readonly faults: readonly Fault[];
  readonly requests: readonly Request[];
}

/** The faults and requests of the options, or those drawn from their seed. */
export function planOf({ seed, scenario, faults, faultPlan, requests }: WorldOptions): WorldPlan {
  const random = seededRandom(seed);
  return {
    faults: faultPlan ?? drawn(faults.nemesis, scenario, random.split('nemesis')),
    requests: requests ?? drawnRequests(scenario, seed, random.split('requests')),
  };
}

function drawnRequests(scenario: Scenario, seed: number, random: SeededRandom): readonly Request[] {
  const requests = requestsOf(scenario, random);
  return isRead(scenario, seed) ? requests.map((request) => writing(request, random)) : requests;
}

function drawn(
  nemesis: WorldOptions['faults']['nemesis'],
  scenario: Scenario,
  random: SeededRandom,
): readonly Fault[] {
  return nemesis === undefined ? [] : drawFaults(nemesis, targetsOf(scenario), scenario.activeMs, random);
}

/** The actors that a fault may have as its target. */
function targetsOf(scenario: Scenario): Targets {
  return {
    hosts: numbered('host', scenario.hosts),
    schedulers: schedulersOf(scenario).map(({ id }) => id),
    monitors: numbered('monitor', scenario.monitors),
    arbiters: numbered('arbiter', scenario.arbiters),
  };
}

/** The schedulers of a scenario, each numbered among its kind. */
export function schedulersOf({ schedulers }: Scenario) {
  return schedulers.map((kind, place) => {
    const number = schedulers.slice(0, place + 1).filter((other) => other === kind).length;
    return { kind, id: `${kind}-${String(number)}` };
  });
}

/** `host-1`, `host-2`, ... */
export function numbered(word: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${word}-${String(n + 1)}`);
}
