import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostsOf } from '../../../../../sim/omega/model/free-capacity.ts';
import type { PlacementRule } from '../../../../../sim/omega/model/placer.ts';
import { Placer } from '../../../../../sim/omega/model/placer.ts';
import { Ranking } from '../../../../../sim/omega/model/ranking.ts';
import { seededRandom } from '../../../../../src/core/random/random.ts';

const MOST = 4000;
const host = fc.record({
  cpu: fc.integer({ min: 0, max: MOST }),
  memory: fc.integer({ min: 0, max: 100 }),
  group: fc.integer({ min: 0, max: 2 }),
});
const wanted = fc.record({
  tasks: fc.integer({ min: 1, max: 30 }),
  cpuMilli: fc.integer({ min: 1, max: 1500 }),
  memoryMib: fc.integer({ min: 0, max: 60 }),
  hostGroups: fc.constantFrom(-1, 1, 2, 5),
});

type Host = { cpu: number; memory: number; group: number };
type Wanted = { tasks: number; cpuMilli: number; memoryMib: number; hostGroups: number };

const jobOf = ({ tasks, cpuMilli, memoryMib, hostGroups }: Wanted) => ({
  ...{ id: 0, work: 'batch' as const, submitSeconds: 0, runtimeSeconds: 1, gang: false },
  ...{ tasks, hostGroups, shape: { cpuMilli, memoryMib, gpu: null } },
});
const roomOf = (hosts: readonly Host[]) => ({
  cpuMilli: Int32Array.from(hosts, ({ cpu }) => cpu),
  memoryMib: Int32Array.from(hosts, ({ memory }) => memory),
  gpuUsed: null,
});
const bitsOf = (hosts: readonly Host[]) => Int32Array.from(hosts, ({ group }) => 1 << group);

test('a ranking has every host that fits and no other, the fullest first, whatever the order of equals', () => {
  fc.assert(
    fc.property(fc.array(host, { minLength: 1, maxLength: 60 }), wanted, fc.boolean(), (hosts, one, own) => {
      const chance = own ? seededRandom(7) : null;
      const ranked = new Ranking(MOST, bitsOf(hosts), chance).rank(roomOf(hosts), jobOf(one));
      const fits = hosts.flatMap(({ cpu, memory, group }, number) =>
        cpu >= one.cpuMilli && memory >= one.memoryMib && (one.hostGroups & (1 << group)) !== 0
          ? [number]
          : [],
      );
      expect([...ranked].sort((a, b) => a - b)).toEqual(fits);
      const free = [...ranked].map((number) => hosts[number]!.cpu);
      expect(free).toEqual([...free].sort((a, b) => a - b));
    }),
  );
});

/** Task by task: of all hosts that fit the fullest, and of those the one with the least number. */
function plainBestFit(hosts: readonly Host[], one: Wanted): number[] {
  const left = hosts.map((each) => ({ ...each }));
  const chosen: number[] = [];
  for (let task = 0; task < one.tasks; task++) {
    let best = -1;
    for (const [number, { cpu, memory, group }] of left.entries()) {
      const fits = cpu >= one.cpuMilli && memory >= one.memoryMib && (one.hostGroups & (1 << group)) !== 0;
      if (fits && (best < 0 || cpu < left[best]!.cpu)) best = number;
    }
    if (best < 0) break;
    left[best]!.cpu -= one.cpuMilli;
    left[best]!.memory -= one.memoryMib;
    chosen.push(best);
  }
  return chosen;
}

function placed(hosts: readonly Host[], one: Wanted, rule: PlacementRule): number[] {
  const kinds = hosts.map(() => ({ count: 1, cpuMilli: MOST, memoryMib: 100, gpuModels: [] }));
  const placer = new Placer(hostsOf(kinds), bitsOf(hosts), rule, seededRandom(3));
  const { count, hosts: chosen } = placer.place(roomOf(hosts), jobOf(one), one.tasks);
  return [...chosen.subarray(0, count)];
}

test('with tasks together the ranked placement is best fit, task by task', () => {
  fc.assert(
    fc.property(fc.array(host, { minLength: 1, maxLength: 40 }), wanted, (hosts, one) => {
      expect(placed(hosts, one, { ranked: 'common', tasks: 'together' })).toEqual(plainBestFit(hosts, one));
    }),
    { numRuns: 300 },
  );
});

test('with tasks apart no host gets a second task while another one that fits has none', () => {
  fc.assert(
    fc.property(fc.array(host, { minLength: 1, maxLength: 40 }), wanted, (hosts, one) => {
      const chosen = placed(hosts, one, { ranked: 'own', tasks: 'apart' });
      const together = placed(hosts, one, { ranked: 'own', tasks: 'together' });
      expect(chosen.length).toBe(together.length);
      const firsts = new Set(chosen).size;
      expect(new Set(chosen.slice(0, firsts)).size).toBe(firsts);
    }),
  );
});
