/**
 * Kinds of runs (`--theme`). Each theme stresses one side of the cell by its scenario, its faults and what clients ask for. The planted bugs of
 * `sim/mutants` are looked for in them, and one seed in twenty of `npm run sim` is one of them.
 *
 * - `requests.ts`: what clients ask for in most of them; `scenarios.ts`: the cells of most of them
 * - for single themes: `blamed.ts` (hosts and versions that are at fault), `budgeted.ts` (what the cell does of its own accord is bounded), `grown.ts` (elastic jobs, and others that take their surplus), `apart.ts` (jobs with `distinct` and `spread`), `drained.ts` (an operator closes and opens hosts), `fenced.ts` (jobs that want a fence), `volumes.ts` (jobs with data), `followed.ts`
 *   (monitors fail while events are followed), `gpus.ts` (jobs that ask for devices),
 *   `neighbours.ts` (jobs of classes that avoid each other), `named.ts` (services that are followed by name), `quotas.ts` (a namespace with a quota), `rolled.ts` (updates that fail or wait), `read.ts` (monitors and disks fail while output is
 *   read), `regained.ts` (hosts that are back when they are lost), `rivals.ts` (up to six schedulers, and work that is preempted)
 */
import type { SeededRandom } from '../../src/core/random/random.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { FaultKind } from '../nemesis/fault.ts';
import type { WorldOptions, WorldResult } from '../world/options.ts';
import type { FaultSettings } from '../nemesis/random-faults.ts';
import { runWorld } from '../world/run-world.ts';
import type { Scenario } from '../world/scenario.ts';
import type { Request } from '../actor/client.ts';
import { SMALL_CELL } from '../world/scenario.ts';
import { followedFaults } from './followed.ts';
import { apart } from './apart.ts';
import { badHosts, blamed, drawnPolicy } from './blamed.ts';
import { drawnBudgets, replaced } from './budgeted.ts';
import { drawnHostActions, drawnMoves, lasting } from './drained.ts';
import { asking, DEVICES } from './gpus.ts';
import { keeping } from './volumes.ts';
import { fenced } from './fenced.ts';
import { drawnRule, grown, GROWERS } from './grown.ts';
import { named } from './named.ts';
import { neighbourly } from './neighbours.ts';
import { rolled } from './rolled.ts';
import { keptRun, quotaRun } from './quotas.ts';
import { readFaults } from './read.ts';
import { briefly, comings, kept } from './regained.ts';
import { drawnSchedulers, preempting } from './rivals.ts';
import type { Run } from './scenarios.ts';
import { LONG, SHORT, SLOW, WHOLE } from './scenarios.ts';
import { burst, gangs, moving, restless, talkative } from './requests.ts';

const FOLLOWED: Scenario = { ...SHORT, followed: true };
/** All of its tasks write, and nearly all that the reader begins with end in a run. */
const READ: Scenario = { ...SHORT, read: true, least: { ...SHORT.least, outputs: 4 } };
const NAMED: Scenario = { ...SHORT, names: true, activeMs: 20_000, quietMs: 30_000, quietLeastMs: 30_000 };
/** Growth is looked for every five seconds. */
const GROWN: Scenario = {
  ...SHORT,
  schedulers: GROWERS,
  activeMs: 24_000,
  quietMs: 44_000,
  quietLeastMs: 44_000,
};
/** Time for the deadlines of updates. */
const ROLLED: Scenario = { ...SHORT, activeMs: 24_000, quietMs: 44_000, quietLeastMs: 44_000 };

const CRASHES: readonly FaultKind[] = ['kill', 'kill', 'kill', 'reboot', 'shim-dies', 'disk-slow'];
const SILENCES: readonly FaultKind[] = [
  'isolate',
  'cut',
  'cut-from',
  'pause',
  'freeze-host',
  'break-connections',
];

const RUNS = {
  /** All faults that the nemesis has. */
  any: () => ({ scenario: WHOLE, faults: { nemesis: { everyMs: 2_500 } } }),
  /** Many jobs at once for little capacity. */
  crowd: (random) => burstIn(SHORT, {}, random),
  /** A store whose answers come late or never. */
  late: (random) => burstIn(SHORT, LATE, random),
  /** A network that loses and repeats messages. */
  lossy: (random) => burstIn(SHORT, LOSSY, random),
  /** Roles and machines that die. */
  crash: (random) => burstIn(SHORT, { nemesis: { everyMs: 700, kinds: CRASHES } }, random),
  /** Hosts that are cut off or paused for a while. */
  silent: (random) => burstIn(SHORT, { nemesis: { everyMs: 1_000, kinds: SILENCES } }, random),
  /** A host that is cut off for so long that it counts as lost. */
  lost: lostRun,
  /** A host that is lost for much longer, while every second job asks to be replaced. */
  moved: movedRun,
  /** The same, and the jobs that ask to be replaced want a fence to say so first. */
  fenced: fencedRun,
  /** Jobs with data, of one host or brought by a driver; in every second run a host is lost for long. */
  volumes: volumesRun,
  /** Hosts that vanish together, more of them than are believed at once, for so long that they are lost one after the other. */
  vanished: vanishedRun,
  /** Slow messages, which later ones overtake. */
  race: (random) => ({ scenario: SLOW, faults: RACE, requests: burst(random, 2 * SHORT.activeMs) }),
  /** Hosts that cannot take what was placed on them. */
  refused: (random) => burstIn(SHORT, { nemesis: { everyMs: 600, kinds: REFUSALS } }, random),
  /** The same, and orders that arrive twice. */
  repeated: repeatedRun,
  /** A store that is lost, or restored from a snapshot. */
  restored: restoredRun,
  /** A store that is restored to a moment at which a gang was half reserved. */
  begun: begunRun,
  /** As `repeated`, with gangs only. */
  parted: partedRun,
  /** Hosts that are cut off for some seconds, one after the other, while their tasks release what they held. */
  hushed: hushedRun,
  /** A namespace whose quota is less than it asks for, and roles that learn late of what is used. */
  quota: quotaRun,
  /** The same, and arbiters that die, are paused or lose their leases while they keep the quota. */
  kept: keptRun,
  /** Services that are changed again before they have settled. */
  restless: (random) => ({ scenario: SLOW, faults: RACE, requests: restless(random, SLOW.activeMs) }),
  /** A client that follows the events of monitors that are cut off. */
  followed: (random) => {
    const faultPlan = followedFaults(random, SHORT.activeMs);
    return { ...burstIn(FOLLOWED, { store: { watchLags: 0.3, watchLagMs: 1_000 } }, random), faultPlan };
  },
  /** A client that reads what tasks write, through monitors that are cut off from their hosts. */
  read: (random) => {
    const faultPlan = readFaults(random, READ.activeMs);
    return { ...burstIn(READ, {}, random, talkative), faultPlan };
  },
  /** Hosts with devices, and jobs that ask for whole ones and parts. */
  gpus: (random) =>
    burstIn({ ...SHORT, gpuModels: DEVICES }, UNSURE, random, (request) => asking(request, random)),
  /** Jobs whose tasks may not share a host or a rack, or are spread. */
  apart: (random) => burstIn(SHORT, UNSURE, random, (request) => apart(request, random)),
  /** Jobs of classes that avoid each other: in every second run several schedulers know late of each other, else roles die. */
  neighbours: (random) => ({
    ...(random.below(2) === 0 ? { scenario: SLOW, faults: RACE } : { scenario: SHORT, faults: UNSURE }),
    requests: [...burst(random, SHORT.activeMs), ...preempting(random.split('evicting'), SHORT.activeMs)].map(
      (request) => neighbourly(request, random),
    ),
  }),
  /** An operator who closes and opens hosts, and moves what runs. */
  drained: drainedRun,
  /** Services that hosts follow by name, changed and stopped also after the last fault, and a host that is lost in some. */
  named: namedRun,
  /** Updates that fail, are undone, or wait for a promotion, and schedulers that die meanwhile. */
  rolled: (random) => ({
    ...{ scenario: ROLLED, faults: UNSURE },
    requests: rolled(random.split('rolled'), ROLLED.activeMs),
  }),
  /** Hosts and versions that are at fault, more of them than may be closed or remedied, and monitors that meet at the bounds. */
  blamed: blamedRun,
  /** A host that is lost, or several, and little that may be replaced within a while. */
  budgeted: budgetedRun,
  /** Elastic jobs that fill the cell, and newcomers that take their surplus. */
  grown: (random) => ({
    scenario: { ...GROWN, elastic: drawnRule(random.split('rule')) },
    faults: UNSURE,
    requests: grown(random.split('grown'), GROWN.activeMs),
  }),
  /** Hosts that are back when they count as lost, while work that may be kept there is preempted elsewhere, and schedulers hear late. */
  regained: regainedRun,
  /** One to six schedulers, and work that preempts. */
  rivals: rivalsRun,
} satisfies Readonly<Record<string, (random: SeededRandom) => Run>>;

export type Theme = keyof typeof RUNS;
export const THEMES = Object.keys(RUNS) as readonly Theme[];

export function suiteOptions(theme: Theme, seed: number): WorldOptions {
  return { seed, ...RUNS[theme](seededRandom(seed).split(`suite ${theme}`)) };
}

function burstIn(
  scenario: Scenario,
  faults: FaultSettings,
  random: SeededRandom,
  change: (request: Request) => Request = (request) => request,
) {
  return { scenario, faults, requests: burst(random, scenario.activeMs).map(change) };
}

const BLAMED: Scenario = {
  ...{ ...SHORT, hosts: 8, monitors: 3, hostCpuMilli: 4_000, hostMemoryMib: 8_192 },
  ...{ activeMs: 40_000, quietMs: 30_000, quietLeastMs: 20_000 },
  least: { ...SHORT.least, ended: 0 },
};

function blamedRun(random: SeededRandom): Run {
  const { hosts, activeMs } = BLAMED;
  return {
    scenario: { ...BLAMED, remedies: drawnPolicy(random.split('policy')) },
    faults: { store: { delayMaxMs: 600, watchLags: 0.3, watchLagMs: 1_500, replyLost: 0.03 } },
    faultPlan: badHosts(random.split('hosts'), hosts, activeMs),
    requests: blamed(random.split('services'), activeMs),
  };
}

function drainedRun(random: SeededRandom): Run {
  const hostActions = drawnHostActions(SHORT, random.split('verdicts'));
  const scenario = { ...SHORT, hostActions, movesAtMs: drawnMoves(SHORT, random.split('moves')) };
  return burstIn(scenario, UNSURE, random, (request) => lasting(request, random));
}

const REGAINED: Scenario = { ...LONG, activeMs: 54_000 };

function regainedRun(random: SeededRandom): Run {
  const faultPlan = briefly(random.split('hosts'), REGAINED.hosts, 2_000);
  const lasting = moving(random.split('lasting'), REGAINED.activeMs / 2);
  return {
    faultPlan,
    scenario: REGAINED,
    faults: { store: { delayMaxMs: 200, watchLags: 0.5, watchLagMs: 1_500 } },
    requests: [
      ...lasting.map((request) => kept(request, random.split('policy'))),
      ...comings(random.split('comings'), REGAINED.activeMs / 2, REGAINED.activeMs),
    ],
  };
}

function rivalsRun(random: SeededRandom): Run {
  const scenario = { ...SHORT, schedulers: drawnSchedulers(random.split('schedulers')) };
  const { requests, ...run } = burstIn(scenario, UNSURE, random);
  return { ...run, requests: [...requests, ...preempting(random.split('evicting'), SHORT.activeMs)] };
}

/** Before the hosts of `moved` are back. */
const ORPHAN_MS = 6_000;

/** Soon enough for buckets to be deleted while others draw of them. */
const FULL_BUCKET_MS = 500;

function budgetedRun(random: SeededRandom): Run {
  const runOf = [movedRun, vanishedRun, drainedRun, rivalsRun][random.split('kind').below(4)] ?? movedRun;
  const { scenario = SHORT, faultPlan = [], requests = [] } = runOf(random);
  const quiet = { quietMs: 60_000, quietLeastMs: 40_000 };
  return {
    faultPlan,
    scenario: {
      ...{ ...scenario, ...quiet, budgets: drawnBudgets(random.split('budgets')) },
      ...{ orphanMs: ORPHAN_MS, fullBucketMs: FULL_BUCKET_MS },
    },
    faults: { store: { delayMaxMs: 300, watchLags: 0.3, watchLagMs: 1_000, replyLost: 0.03 } },
    requests: requests.map(replaced),
  };
}

const LATE: FaultSettings = {
  store: {
    requestLost: 0.03,
    replyLost: 0.1,
    late: 0.15,
    watchLags: 0.2,
    watchLagMs: 1_000,
    watchBreaks: 0.02,
  },
};

/** What roles know is old, and messages overtake each other. */
const RACE: FaultSettings = {
  network: { delayMaxMs: 500 },
  store: { delayMaxMs: 800, late: 0.2, requestLost: 0.05, watchLags: 0.6, watchLagMs: 1_500 },
};

/** Some of everything: crashes, late changes, and lost answers. */
const UNSURE: FaultSettings = {
  nemesis: { everyMs: 1_500, kinds: [...CRASHES, 'cut', 'watches-lag', 'replies-lost', 'disk-fails'] },
  store: { delayMaxMs: 200, watchLags: 0.2, watchLagMs: 800 },
};

const REFUSALS: readonly FaultKind[] = ['disk-fails', 'disk-fails', 'cut', 'isolate', 'clock-step'];

const LOSSY: FaultSettings = { network: { loss: 0.06, double: 0.2, delayMaxMs: 300 } };

/** In one of three a host is away until it is lost, and for a while longer. */
function namedRun(random: SeededRandom): Run {
  if (random.below(3) > 0) {
    const faults = { nemesis: { everyMs: 4_000, kinds: WITHOUT_NAMES }, network: { delayMaxMs: 60 } };
    return { scenario: NAMED, faults, requests: named(random, NAMED.activeMs) };
  }
  const target = `host-${String(1 + random.below(SMALL_CELL.hosts))}`;
  const faultPlan = [{ kind: 'isolate' as const, target, atMs: 8_000, durationMs: 56_000 }];
  const scenario = { ...NAMED, activeMs: 66_000 };
  return { scenario, faults: {}, faultPlan, requests: named(random, scenario.activeMs) };
}

const WITHOUT_NAMES: readonly FaultKind[] = [
  'kill',
  'kill',
  'cut',
  'isolate',
  'pause',
  'reboot',
  'watches-lag',
];

function lostRun(random: SeededRandom): Run {
  const kind = random.below(2) === 0 ? 'isolate' : 'pause';
  const host = `host-${String(1 + random.below(SMALL_CELL.hosts))}`;
  const gone = { kind, target: host, atMs: 2_000 + random.below(6_000), durationMs: 44_000 } as const;
  const doubling = {
    kind: 'doubling-network',
    target: '',
    amount: 0.4,
    atMs: 1_000,
    durationMs: 56_000,
  } as const;
  const requests = longRequests(random).map((request) => leaving(request, random));
  return { scenario: LONG, faults: {}, faultPlan: [gone, doubling], requests };
}

/** Time for the host to be declared lost, for what follows from that, and for it to be back some seconds before the end. */
const MOVED: Scenario = { ...LONG, activeMs: 62_000 };
const BACK_MS = 58_000;

function movedRun(random: SeededRandom): Run {
  const kind = (['isolate', 'pause', 'freeze-host', 'reboot'] as const)[random.below(4)] ?? 'isolate';
  const target = `host-${String(1 + random.below(SMALL_CELL.hosts))}`;
  const atMs = 4_000 + random.below(5_000);
  const gone = { kind, target, atMs, durationMs: BACK_MS - atMs };
  return { scenario: MOVED, faults: {}, faultPlan: [gone], requests: moving(random, BACK_MS) };
}

const FENCED: Scenario = { ...MOVED, fences: true };

function fencedRun(random: SeededRandom): Run {
  const { requests = [], ...run } = movedRun(random);
  // What is frozen as a whole ends nothing by itself, and goes on for a moment when it is back.
  const maySelf = run.faultPlan?.every(({ kind }) => kind !== 'freeze-host') === true;
  const changed = requests.map((request) => fenced(request, maySelf, random));
  return { ...run, scenario: FENCED, requests: changed };
}

const KEPT_DATA = { fences: true, volumes: true } as const;

function volumesRun(random: SeededRandom): Run {
  if (random.below(2) === 0) {
    const scenario = { ...SHORT, ...KEPT_DATA, activeMs: 16_000 };
    return { scenario, faults: UNSURE, requests: keeping(random, scenario.activeMs) };
  }
  const { faultPlan = [] } = movedRun(random);
  return { scenario: { ...MOVED, ...KEPT_DATA }, faults: {}, faultPlan, requests: keeping(random, BACK_MS) };
}

/** A crowd waits 90 s after its sessions, and then goes one by one. */
const VANISHED: Scenario = { ...LONG, hosts: 6, activeMs: 160_000 };
const CROWD_BACK_MS = 150_000;
const CROWD = 4;

function vanishedRun(random: SeededRandom): Run {
  const first = random.below(VANISHED.hosts);
  const startMs = 6_000 + random.below(4_000);
  const faultPlan = Array.from({ length: CROWD }, (_, n) => {
    const kind = (['isolate', 'pause', 'freeze-host'] as const)[random.below(3)] ?? 'isolate';
    const target = `host-${String(1 + ((first + n) % VANISHED.hosts))}`;
    const atMs = startMs + random.below(1_500);
    return { kind, target, atMs, durationMs: CROWD_BACK_MS - atMs };
  });
  return { scenario: VANISHED, faults: {}, faultPlan, requests: moving(random, CROWD_BACK_MS) };
}

/** Every second service and batch job bounds how long it runs on a host that is cut off. */
function leaving(request: Request, random: SeededRandom): Request {
  const own = random.split(`leaves ${request.name}`);
  if (request.file['gang'] === true || own.below(2) > 0) return request;
  const env = { ...(request.file['env'] as object), SIM_RUN_MS: String(own.below(2) * 60_000) };
  // Long before its host counts as lost, and some time after.
  const stopAfter = own.below(2) === 0 ? '15s' : '50s';
  return { ...request, stopAfterMs: null, file: { ...request.file, env, disconnect: { stopAfter } } };
}

/** Disks that fail for a moment each: what was refused meanwhile comes again when it could be done. */
function repeatedRun(random: SeededRandom): Run {
  const faultPlan = Array.from({ length: 24 }, (_, n) => ({
    kind: 'disk-fails' as const,
    target: `host-${String(1 + (n % SMALL_CELL.hosts))}`,
    atMs: 1_000 + 300 * n,
    durationMs: 100 + random.below(400),
    code: 'io' as const,
  }));
  const faults = { network: { double: 0.8, delayMaxMs: 800 } };
  return { scenario: SHORT, faults, faultPlan, requests: burst(random, SHORT.activeMs) };
}

/** Gang members whose hosts refuse them while other members are on their way. */
function partedRun(random: SeededRandom): Run {
  const options = repeatedRun(random);
  return { ...options, requests: burst(random, SHORT.activeMs).map(together) };
}

/** Silences a little longer than what counts as one, so that a host's first word after it is often about one release. */
function hushedRun(random: SeededRandom): Run {
  const faultPlan = Array.from({ length: 5 }, (_, n) => ({
    kind: 'isolate' as const,
    target: `host-${String(1 + (n % SMALL_CELL.hosts))}`,
    atMs: 1_500 + 3_500 * n,
    durationMs: 3_300 + random.below(1_500),
  }));
  return { scenario: SLOW, faults: {}, faultPlan, requests: burst(random, 16_000).map(lingering) };
}

function lingering(request: Request): Request {
  const env = { ...(request.file['env'] as object), SIM_LINGER_MS: '3000' };
  return { ...request, file: { ...request.file, ports: { http: 'auto' }, env } };
}

/** Time for the store to be away longer than any session, and for hosts to be asked after it. */
const RESTORED: Scenario = { ...SMALL_CELL, activeMs: 22_000, quietMs: 45_000, quietLeastMs: 45_000 };

/** Half of the stores come back as they were some seconds before, in one of three ways; the other half empty. */
function restoredRun(random: SeededRandom): Run {
  const back =
    (['restore', 'restore-bumped', 'restore-same-id'] as const)[random.split('back').below(3)] ?? 'restore';
  const kind = random.below(2) === 0 ? back : 'store-lost';
  const atMs = 3_000 + random.below(6_000);
  const restore = { kind, target: '', atMs, durationMs: 12_000, amount: 500 + random.below(5_000) } as const;
  return {
    scenario: RESTORED,
    faults: {},
    faultPlan: [restore],
    requests: burst(random, 14_000).map(slower),
  };
}

/** Gangs by intent, some of which preempt, in a cell whose store is slow enough to be saved while they are reserved. */
function begunRun(random: SeededRandom): Run {
  const kind = random.below(3) === 0 ? 'restore-bumped' : 'restore';
  const atMs = 4_000 + random.below(5_000);
  const amount = 1_000 + random.below(3_000);
  const restore = { kind, target: '', atMs, durationMs: 12_000, amount, code: 'gang-open' } as const;
  const scenario = { ...RESTORED, gangMax: 1 };
  const requests = gangs(random, atMs).map(slower);
  return { scenario, faults: { store: { delayMaxMs: 150 } }, faultPlan: [restore], requests };
}

/** Ten times as long: what is there when the store is lost shall be there when it is back. */
function slower(request: Request): Request {
  const env = request.file['env'] as Readonly<Record<string, string>>;
  const runMs = String(10 * Number(env['SIM_RUN_MS']));
  return { ...request, file: { ...request.file, env: { ...env, SIM_RUN_MS: runMs } } };
}

/** A gang of two to four that waits as long as the run takes. */
function together(request: Request): Request {
  const count = Math.max(2, Number(request.file['count']));
  return { ...request, file: { ...request.file, count, gang: true, waitMax: '60s' } };
}

/** Enough of them while the host is gone, and when it is back. */
function longRequests(random: SeededRandom): readonly Request[] {
  const first = burst(random, 12_000);
  const later = burst(random, 6_000).map((request) => ({
    ...request,
    atMs: request.atMs + 45_000,
    name: `later-${request.name}`,
    file: { ...request.file, name: `later-${request.name}` },
  }));
  return [...first, ...later];
}

export function suiteRun(theme: Theme, seed: number): Promise<WorldResult> {
  return runWorld(suiteOptions(theme, seed));
}
