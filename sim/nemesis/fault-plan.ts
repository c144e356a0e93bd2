import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Fault, FaultKind } from './fault.ts';
import { RESTORES } from './fault.ts';

export interface NemesisSettings {
  /** On average one fault begins in such a time. */
  readonly everyMs: number;
  /** Only these; default all. */
  readonly kinds?: readonly FaultKind[];
}

/** The actors that a fault may have as its target. */
export interface Targets {
  readonly hosts: readonly string[];
  readonly schedulers: readonly string[];
  readonly monitors: readonly string[];
  readonly arbiters: readonly string[];
}

const DURATION_MIN_MS = 50;
/** Long ones outlive sessions (10 s) and tickets (30 s); most are short. */
const DURATION_MAX_MS = 14_000;

type Draw = (random: SeededRandom, targets: Targets) => Partial<Fault>;

const roles = ({ hosts, schedulers, monitors, arbiters }: Targets): readonly string[] => [
  ...hosts,
  ...schedulers,
  ...monitors,
  ...arbiters,
];
const role: Draw = (random, targets) => ({ target: one(roles(targets), random) });
const host: Draw = (random, { hosts }) => ({ target: one(hosts, random) });
const world: Draw = () => ({ target: '' });
const share =
  (least: number, most: number): Draw =>
  (random) => ({ target: '', amount: between(least, most, random) });
const hostWith =
  (least: number, most: number): Draw =>
  (random, { hosts }) => ({ target: one(hosts, random), amount: between(least, most, random) });

/** Half of all cuts are between a role and the store: that is where the cell lives. */
const pair: Draw = (random, targets) => {
  const target = one(roles(targets), random);
  const others = roles(targets).filter((name) => name !== target);
  return { target, other: random.below(2) === 0 ? 'store' : one(others, random) };
};

const DRAWS: Readonly<Record<FaultKind, Draw>> = {
  kill: role,
  pause: (random, targets) => ({ target: one([...roles(targets), 'store'], random) }),
  'freeze-host': host,
  reboot: host,
  cut: pair,
  'cut-from': pair,
  isolate: role,
  'break-connections': (random, targets) => {
    const target = one(roles(targets), random);
    return {
      target,
      other: one(
        roles(targets).filter((name) => name !== target),
        random,
      ),
    };
  },
  'slow-network': share(20, 3_000),
  'lossy-network': share(0.01, 0.3),
  'doubling-network': share(0.05, 0.5),
  'store-down': world,
  'store-full': world,
  restore: share(0, 5_000),
  'restore-bumped': share(0, 5_000),
  'restore-same-id': share(0, 5_000),
  'store-lost': world,
  'replies-lost': share(0.05, 0.5),
  'requests-lost': share(0.05, 0.5),
  'attempts-late': share(0.02, 0.2),
  'reads-fail': share(0.05, 0.5),
  'watches-lag': share(0.05, 0.9),
  'watches-break': share(0.02, 0.3),
  compact: world,
  'leases-late': share(1_000, 10_000),
  'lease-lost': role,
  'disk-fails': (random, { hosts }) => ({
    target: one(hosts, random),
    code: one(['full', 'read-only', 'io'] as const, random),
  }),
  'disk-slow': hostWith(10, 2_000),
  'reads-slow': hostWith(1, 3_000),
  'output-slow': hostWith(1, 3_000),
  'clock-step': (random, targets) => ({
    target: one(roles(targets), random),
    amount: Math.round(between(-600_000, 600_000, random)),
  }),
  'clock-rate': (random, targets) => ({
    target: one(roles(targets), random),
    amount: one([0.5, 0.9, 0.99, 1.01, 1.1, 2], random),
  }),
  'starts-fail': hostWith(0.2, 1),
  'starts-slow': hostWith(10, 1_000),
  'no-processes': host,
  'shim-dies': host,
};

/** All but those that take more time than most runs have. */
const OFTEN = (Object.keys(DRAWS) as FaultKind[]).filter((kind) => !RESTORES.has(kind));

/** A plan of faults, all over by `endMs`. */
export function drawFaults(
  settings: NemesisSettings,
  targets: Targets,
  endMs: number,
  random: SeededRandom,
): readonly Fault[] {
  const kinds = settings.kinds ?? OFTEN;
  const faults: Fault[] = [];
  let atMs = random.fraction() * settings.everyMs;
  while (atMs < endMs - DURATION_MIN_MS) {
    const kind = one(kinds, random);
    const durationMs = Math.min(endMs - atMs, durationOf(random));
    const drawn = DRAWS[kind](random, targets);
    faults.push({ target: '', ...drawn, kind, atMs: Math.round(atMs), durationMs: Math.round(durationMs) });
    atMs += random.fraction() * 2 * settings.everyMs;
  }
  return faults;
}

/** Evenly over the orders of magnitude. */
function durationOf(random: SeededRandom): number {
  return DURATION_MIN_MS * (DURATION_MAX_MS / DURATION_MIN_MS) ** random.fraction();
}

function one<T>(many: readonly T[], random: SeededRandom): T {
  const found = many[random.below(many.length)];
  if (found === undefined) throw new Error('there is nothing to draw from');
  return found;
}

function between(least: number, most: number, random: SeededRandom): number {
  const drawn = least + (most - least) * random.fraction();
  return Math.round(drawn * 1_000) / 1_000;
}
