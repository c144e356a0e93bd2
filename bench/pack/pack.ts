/**
 * How much of a real GPU cluster the policies give away: the upstream experiment of "Beware of Fragmentation" on its
 * own hosts and pod lists, beside the published means. A list is filled up by random repeats to 130 % of the GPUs and
 * shuffled; each pod is offered once; nothing leaves.
 *
 *   npm run bench -- pack --traces FOLDER [--lists default,cpu050] [--seeds 5] [--policies binpack,fgd]
 *                           [--schedulers 2,4,8]   and the same list dealt out to so many competing schedulers
 *                           [--blind 16]   decisions of each of them before it sees what the others committed
 *                           [--once]   instead: each pod of the list once, on all hosts, as `moorage replay` does, and
 *                                      what keeps the rest out; with `--schedulers` dealt out, too
 *
 * `openb.ts` reads the hosts, lists and published results; `pack-split.ts` deals a list out to competing schedulers.
 */
import { shuffled } from '../../cli/openb/openb.ts';
import { CellState } from '../../src/core/cell-state/cell-state.ts';
import type { TaskMix } from '../../src/core/scoring/fragmentation.ts';
import { chanceFor } from '../../schedulers/decide/partition.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';
import { BINPACK, keepGpusWhole, RANDOM_FIT } from '../../src/core/scoring/policy.ts';
import { place } from '../../src/core/placement/placement.ts';
import { keepGpusWholeFor, LearnedMix } from '../../src/core/scoring/learned-mix.ts';
import type { GpuRequest } from '../../src/core/cell/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../../src/core/cell/resources.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { Pod } from './openb.ts';
import { OpenbFolder } from './openb.ts';
import type { Chooser as CompetitorsChooser } from './pack-split.ts';
import { packSplit } from './pack-split.ts';
import { amounts, makeGroup, makeRequest } from '../testbed/plain-request.ts';
import { flagsOf } from '../testbed/flags.ts';

const flags = flagsOf({
  traces: '',
  lists: '',
  policies: '',
  seeds: 5,
  schedulers: '',
  blind: 16,
  once: false,
});
const folder = openFolder();

type Chooser = CompetitorsChooser<Pod>;

const fixed = (policy: PlacementPolicy): Chooser => ({ policy, observe: () => undefined });

const policies: Record<string, (mix: TaskMix) => Chooser> = {
  binpack: () => fixed(BINPACK),
  'binpack-all': () => fixed({ ...BINPACK, sample: Infinity }),
  fgd: (mix) => fixed(keepGpusWhole(mix)),
  'fgd-all': (mix) => fixed({ ...keepGpusWhole(mix), sample: Infinity }),
  // As a scheduler with `--score fgd` does it.
  'fgd-learned': () => {
    const learned = new LearnedMix();
    const observe = ({ cpuMilli, gpu }: Pod): void => learned.observe(cpuMilli, gpu, 1);
    return { policy: keepGpusWholeFor(learned), observe };
  },
  random: () => fixed(RANDOM_FIT),
};
const PUBLISHED: Record<string, string> = {
  binpack: 'BestFit',
  'binpack-all': 'BestFit',
  fgd: 'FGD',
  'fgd-all': 'FGD',
  'fgd-learned': 'FGD',
  random: 'Random',
};
const DEFAULT_POLICIES = 'binpack,fgd';
const OFFERED_MAX = 1.3;

const gpuOf = ({ gpu }: Pod): number => (gpu === null ? 0 : gpu.count * gpu.milliEach);

/** The list repeated or thinned at random to the wanted load, in random order. */
function offered(pods: readonly Pod[], gpuMilli: number, seed: number): Pod[] {
  const random = seededRandom(seed);
  const result = [...pods];
  let sum = result.reduce((total, pod) => total + gpuOf(pod), 0);
  while (sum < gpuMilli) {
    const pod = pods[random.below(pods.length)]!;
    result.push(pod);
    sum += gpuOf(pod);
  }
  const inOrder = shuffled(result, (bound) => random.below(bound));
  // The shuffled end is as random a choice as any.
  for (let last = inOrder.at(-1); last !== undefined && sum - gpuOf(last) > gpuMilli; last = inOrder.at(-1)) {
    sum -= gpuOf(last);
    inOrder.pop();
  }
  return inOrder;
}

const GROUP = makeGroup({ name: 'pod' });

function requestOf({ cpuMilli, memoryMib, gpu }: Pod): PlacementRequest {
  const ask = { resources: amounts(cpuMilli, memoryMib), gpu, ports: {} };
  return makeRequest({ job: 'pod', group: GROUP, ask });
}

interface Packed {
  /** GPU given away, % of all, when 100 % and when 130 % had been offered. */
  readonly at100: number;
  readonly at130: number;
  readonly cpuMs: number;
}

type Settled = (pod: Pod, placed: boolean) => void;

/** @param offer offers every pod, and reports each */
function measure(hosts: readonly Host[], offer: (onSettled: Settled) => void): Packed {
  const total = hosts.reduce((sum, host) => sum + host.gpuModels.length * GPU_MILLI_PER_DEVICE, 0);
  let [asked, given, at100] = [0, 0, 0];
  const cpu = process.cpuUsage();
  offer((pod, placed) => {
    asked += gpuOf(pod);
    if (placed) given += gpuOf(pod);
    if (asked <= total) at100 = given;
  });
  const { user, system } = process.cpuUsage(cpu);
  return { at100: (100 * at100) / total, at130: (100 * given) / total, cpuMs: (user + system) / 1000 };
}

function stateOf(hosts: readonly Host[]): CellState {
  const state = new CellState();
  for (const host of hosts) {
    state.setHost(host);
    state.setAlive(host.id, true);
  }
  return state;
}

/** One scheduler alone. */
function placeAll(
  state: CellState,
  pods: readonly Pod[],
  { policy, observe }: Chooser,
  seed: number,
  onSettled: Settled,
): void {
  const chance = chanceFor(policy.score, seededRandom(seed + 1000), () => ({ index: 0, count: 1 }));
  for (const [n, pod] of pods.entries()) {
    observe(pod);
    const request = requestOf(pod);
    const [chosen] = place(state, request, chance, policy).chosen;
    if (chosen !== undefined)
      state.assume({ id: String(n), precedence: 50, resources: request.ask.resources, ...chosen });
    onSettled(pod, chosen !== undefined);
  }
}

function pack(hosts: readonly Host[], pods: readonly Pod[], chooser: () => Chooser, seed: number): Packed {
  const state = stateOf(hosts);
  return measure(hosts, (onSettled) => placeAll(state, pods, chooser(), seed, onSettled));
}

/** The same by several schedulers at once. */
function packBy(
  schedulers: number,
  hosts: readonly Host[],
  pods: readonly Pod[],
  chooser: () => Chooser,
  seed: number,
): Packed & { readonly conflictsPerCommit: number } {
  let conflictsPerCommit = 0;
  const packed = measure(hosts, (onSettled) => {
    conflictsPerCommit = packSplit(hosts, pods, chooser, {
      ...{ schedulers, blind: flags.blind, seed },
      ...{ requestOf, onSettled },
    });
  });
  return { ...packed, conflictsPerCommit };
}

/**
 * Each pod once in random order, and what is left: the devices' free parts, and why those without a place have none.
 * `order` 0 is the order of the file.
 */
function once(hosts: readonly Host[], pods: readonly Pod[], chooser: () => Chooser, order: number): string {
  const state = stateOf(hosts);
  const out: Pod[] = [];
  let given = 0;
  const random = seededRandom(order);
  const inOrder = order === 0 ? pods : shuffled(pods, (bound) => random.below(bound));
  placeAll(state, inOrder, chooser(), order, (pod, placed) => {
    if (placed) given += gpuOf(pod);
    else out.push(pod);
  });
  const devices = hosts.flatMap(({ id, gpuModels }) =>
    gpuModels.map((_, device) => GPU_MILLI_PER_DEVICE - (state.ledgerOf(id).gpuMilli[device] ?? 0)),
  );
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0) / 1000;
  const whole = devices.filter((free) => free === GPU_MILLI_PER_DEVICE).length;
  const withGpu = out.filter(({ gpu }) => gpu !== null);
  return (
    `placed=${String(pods.length - out.length)} of=${String(pods.length)} without_place=${String(out.length)} ` +
    `of_these_with_gpu=${String(withGpu.length)} gpus_asked=${sum(pods.map(gpuOf)).toFixed(1)} ` +
    `gpus=${String(devices.length)} given=${(given / 1000).toFixed(1)} refused=${sum(out.map(gpuOf)).toFixed(1)} ` +
    `free=${sum(devices).toFixed(1)} of_which_whole=${String(whole)} ` +
    `gpus_each_refused_pod=${(sum(withGpu.map(gpuOf)) / Math.max(1, withGpu.length)).toFixed(2)}`
  );
}

/** The same dealt out to several schedulers. */
function onceBy(
  schedulers: number,
  hosts: readonly Host[],
  pods: readonly Pod[],
  chooser: () => Chooser,
  order: number,
): string {
  let placed = 0;
  let given = 0;
  const random = seededRandom(order);
  const inOrder = order === 0 ? pods : shuffled(pods, (bound) => random.below(bound));
  const conflicts = packSplit(hosts, inOrder, chooser, {
    ...{ schedulers, blind: flags.blind, seed: order, requestOf },
    onSettled: (pod, isPlaced) => {
      if (!isPlaced) return;
      placed += 1;
      given += gpuOf(pod);
    },
  });
  return (
    `schedulers=${String(schedulers)} blind=${String(flags.blind)} placed=${String(placed)} ` +
    `of=${String(pods.length)} given=${(given / 1000).toFixed(1)} conflicts_per_commit=${conflicts.toFixed(4)}`
  );
}

function mixOf(pods: readonly Pod[]): TaskMix {
  const kinds = new Map<string, { cpuMilli: number; gpu: GpuRequest | null; weight: number }>();
  for (const { cpuMilli, gpu } of pods) {
    const key = JSON.stringify([cpuMilli, gpu]);
    const kind = kinds.get(key) ?? { cpuMilli, gpu, weight: 0 };
    kind.weight += 1;
    kinds.set(key, kind);
  }
  return [...kinds.values()];
}

function published(list: string, policy: string): { at100: number; at130: number } | null {
  const rows = folder.published(list, PUBLISHED[policy] ?? '');
  if (rows.length === 0) return null;
  return {
    at100: mean(rows.map((row) => Number(row('100')))),
    at130: mean(rows.map((row) => Number(row('130')))),
  };
}

/** A folder that cannot be read ends the program with one line. */
function openFolder(): OpenbFolder {
  try {
    return new OpenbFolder(flags.traces, flags.lists.split(',').filter(Boolean));
  } catch (error) {
    process.stderr.write(`pack: ${(error as Error).message}\n`);
    process.exit(64);
  }
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;

const hosts = folder.hosts('gpu');
const gpuMilli = hosts.reduce((sum, host) => sum + host.gpuModels.length * GPU_MILLI_PER_DEVICE, 0);
const lists = flags.lists === '' ? folder.lists : flags.lists.split(',');
const names = (flags.policies === '' ? DEFAULT_POLICIES : flags.policies).split(',');
const counts = flags.schedulers.split(',').filter(Boolean).map(Number);
const seeds = Array.from({ length: flags.seeds }, (_, n) => n + 1);
for (const list of lists) {
  const pods = folder.pods(list);
  const mix = mixOf(pods);
  for (const name of names) {
    const make = policies[name];
    if (make === undefined)
      throw new Error(`no policy ${name}; there are ${Object.keys(policies).join(' ')}`);
    const chooser = (): Chooser => make(mix);
    if (flags.once) {
      const all = folder.hosts('all');
      for (const order of [0, ...seeds]) {
        const what = order === 0 ? 'file' : `seed-${String(order)}`;
        const line = `pack once list=${list} policy=${name} order=${what}`;
        console.log(`${line} ${once(all, pods, chooser, order)}`);
        for (const count of counts) console.log(`${line} ${onceBy(count, all, pods, chooser, order)}`);
      }
      continue;
    }
    const runs = seeds.map((seed) => pack(hosts, offered(pods, OFFERED_MAX * gpuMilli, seed), chooser, seed));
    const [at100, at130] = [mean(runs.map((run) => run.at100)), mean(runs.map((run) => run.at130))];
    const known = published(list, name);
    const beside =
      known === null
        ? ''
        : ` published_${PUBLISHED[name] ?? ''}=${known.at100.toFixed(2)}/${known.at130.toFixed(2)}` +
          ` difference=${(at100 - known.at100).toFixed(2)}/${(at130 - known.at130).toFixed(2)}`;
    console.log(
      `pack list=${list} policy=${name} sample=${String(chooser().policy.sample)} hosts=${String(hosts.length)} ` +
        `seeds=1-${String(seeds.length)} gpu_percent_at_100=${at100.toFixed(2)} at_130=${at130.toFixed(2)}${beside} ` +
        `cpu_ms_each_run=${mean(runs.map((run) => run.cpuMs)).toFixed(0)}`,
    );
    for (const count of counts) {
      const split = seeds.map((seed) =>
        packBy(count, hosts, offered(pods, OFFERED_MAX * gpuMilli, seed), chooser, seed),
      );
      const [by100, by130] = [mean(split.map((run) => run.at100)), mean(split.map((run) => run.at130))];
      console.log(
        `pack split list=${list} policy=${name} schedulers=${String(count)} blind=${String(flags.blind)} ` +
          `seeds=1-${String(seeds.length)} gpu_percent_at_100=${by100.toFixed(2)} at_130=${by130.toFixed(2)} ` +
          `change=${(by100 - at100).toFixed(2)}/${(by130 - at130).toFixed(2)} wanted=within_0.50 ` +
          `conflicts_per_commit=${mean(split.map((run) => run.conflictsPerCommit)).toFixed(4)}`,
      );
    }
  }
}
