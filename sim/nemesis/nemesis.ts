/**
 * The faults of a run. A plan is a list of faults, drawn from the seed or given; each is entered into the agenda, done at its time, and
 * undone after its duration. Both are recorded, since checkers excuse what a fault explains.
 *
 * - `fault.ts`: the kinds of faults; `fault-plan.ts`: draws a plan from the seed
 * - `random-faults.ts`: settings under which the network and the store fail by chance, message by message, and their record
 * - `backup.ts`: saves the store before a fault that restores it; `restore.ts`: the store goes away and comes back as it was saved, or empty
 */
import type { SavedCell } from '../../src/adapters/memory/cell.ts';
import type { Actor } from '../actor/actor.ts';
import type { Environment } from '../actor/environment.ts';
import type { Machine } from '../machine/machine.ts';
import type { Fault, FaultKind } from './fault.ts';
import { backupFor } from './backup.ts';
import { wordsOf } from './fault.ts';
import { restoreStore } from './restore.ts';

/** What faults act on. */
export interface FaultTargets {
  readonly environment: Environment;
  readonly actors: ReadonlyMap<string, Actor>;
  readonly machines: ReadonlyMap<string, Machine>;
}

type Undo = () => void;
/** @param backup what the store is restored from */
type Action = (fault: Fault, world: FaultTargets, backup: () => SavedCell | null) => Undo;

/** Enters all faults of the plan into the agenda. */
export function scheduleFaults(plan: readonly Fault[], world: FaultTargets): void {
  const { agenda, life, history } = world.environment;
  for (const [number, fault] of plan.entries()) {
    const what = wordsOf(fault);
    const targets = [fault.target, fault.other ?? ''].filter((name) => name !== '');
    const backup = backupFor(fault, world.environment);
    const begin = (): void => {
      history.add('nemesis', { fault: number, kind: fault.kind, phase: 'begin', targets, what });
      const undo = ACTIONS[fault.kind](fault, world, backup);
      const end = (): void => {
        undo();
        history.add('nemesis', { fault: number, kind: fault.kind, phase: 'end', targets, what });
      };
      agenda.after(fault.durationMs, life, 'fault ends', end, what);
    };
    agenda.after(fault.atMs - agenda.nowMs, life, 'fault', begin, what);
  }
}

const NOTHING: Undo = () => undefined;

const ACTIONS: Readonly<Record<FaultKind, Action>> = {
  kill: (fault, world) => {
    const actor = actorOf(fault, world);
    actor.kill();
    return () => actor.start();
  },
  pause: (fault, world) => {
    const { store, agenda } = world.environment;
    if (fault.target === store.actor) {
      store.life.pause();
      return () => agenda.resume(store.life);
    }
    const actor = actorOf(fault, world);
    actor.pause();
    return () => actor.resume();
  },
  'freeze-host': (fault, world) => {
    const [actor, machine] = [actorOf(fault, world), machineOf(fault, world)];
    actor.pause();
    machine.life.pause();
    return () => {
      world.environment.agenda.resume(machine.life);
      actor.resume();
    };
  },
  reboot: (fault, world) => {
    const [actor, machine] = [actorOf(fault, world), machineOf(fault, world)];
    if (machine.life.ended) return NOTHING;
    actor.kill();
    machine.losePower();
    return () => {
      machine.boot();
      actor.start();
    };
  },
  cut: ({ target, other = '' }, { environment: environment }) => {
    const { faults: faults } = environment.network;
    faults.cut(target, other);
    faults.cut(other, target);
    return () => {
      faults.heal(target, other);
      faults.heal(other, target);
    };
  },
  'cut-from': ({ target, other = '' }, { environment: environment }) => {
    environment.network.faults.cut(target, other);
    return () => environment.network.faults.heal(target, other);
  },
  isolate: ({ target }, { environment: environment, actors }) => {
    const { faults: faults } = environment.network;
    const others = [...actors.keys(), environment.store.actor].filter((name) => name !== target);
    for (const other of others) faults.cut(target, other);
    for (const other of others) faults.cut(other, target);
    return () => {
      for (const other of others) faults.heal(target, other);
      for (const other of others) faults.heal(other, target);
    };
  },
  'break-connections': ({ target, other = '' }, { environment: environment }) => {
    environment.network.breakBetween(target, other);
    return NOTHING;
  },
  'slow-network': ({ amount = 0 }, { environment: environment }) =>
    environment.network.faults.override({ delayMaxMs: amount }),
  'lossy-network': ({ amount = 0 }, { environment: environment }) =>
    environment.network.faults.override({ loss: amount }),
  'doubling-network': ({ amount = 0 }, { environment: environment }) =>
    environment.network.faults.override({ double: amount }),
  'store-down': (_fault, { environment: environment }) => environment.store.faults.override({ down: true }),
  'store-full': (_fault, { environment: environment }) => environment.store.faults.override({ full: true }),
  restore: (_fault, { environment: environment }, backup) => restoreStore(environment, backup, 'anew'),
  'restore-bumped': (_fault, { environment: environment }, backup) =>
    restoreStore(environment, backup, 'bumped'),
  'restore-same-id': (_fault, { environment: environment }, backup) =>
    restoreStore(environment, backup, 'gone-back'),
  'store-lost': (_fault, { environment: environment }, backup) => restoreStore(environment, backup, 'anew'),
  'replies-lost': ({ amount = 0 }, { environment: environment }) =>
    environment.store.faults.override({ replyLost: amount }),
  'requests-lost': ({ amount = 0 }, { environment: environment }) =>
    environment.store.faults.override({ requestLost: amount }),
  'attempts-late': ({ amount = 0 }, { environment: environment }) =>
    environment.store.faults.override({ late: amount }),
  'reads-fail': ({ amount = 0 }, { environment: environment }) =>
    environment.store.faults.override({ readFails: amount }),
  'watches-lag': ({ amount = 0 }, { environment: environment }) =>
    environment.store.faults.override({ watchLags: amount }),
  'watches-break': ({ amount = 0 }, { environment: environment }) =>
    environment.store.faults.override({ watchBreaks: amount }),
  compact: (_fault, { environment: environment }) => {
    environment.store.cell.compact(environment.store.cell.revision);
    environment.store.breakWatches();
    return NOTHING;
  },
  'leases-late': ({ amount = 0 }, { environment: environment }) =>
    environment.store.faults.override({ leaseLateMs: amount }),
  'lease-lost': ({ target }, { environment: environment }) => {
    environment.store.loseLeases(target);
    return NOTHING;
  },
  'disk-fails': (fault, world) => {
    const { disk, history, host } = machineOf(fault, world);
    const undo = disk.override({ fault: diskFaultOf(fault) });
    history.add('hosts', { kind: 'disk', host, fault: disk.fault });
    return () => {
      undo();
      history.add('hosts', { kind: 'disk', host, fault: disk.fault });
    };
  },
  'disk-slow': (fault, world) => machineOf(fault, world).disk.override({ slowness: fault.amount ?? 1 }),
  'reads-slow': (fault, world) => machineOf(fault, world).disk.override({ readMaxMs: fault.amount ?? 0 }),
  'output-slow': (fault, world) => machineOf(fault, world).disk.override({ rangeMaxMs: fault.amount ?? 0 }),
  'clock-step': (fault, world) => {
    const { time } = actorOf(fault, world);
    time.stepWall(fault.amount ?? 0);
    return () => time.stepWall(-(fault.amount ?? 0));
  },
  'clock-rate': (fault, world) => {
    const { time } = actorOf(fault, world);
    time.setRate(fault.amount ?? 1);
    return () => time.setRate(1);
  },
  'starts-fail': (fault, world) => machineOf(fault, world).starts.override({ failing: fault.amount ?? 1 }),
  'starts-slow': (fault, world) => machineOf(fault, world).starts.override({ slowness: fault.amount ?? 1 }),
  'no-processes': (fault, world) => machineOf(fault, world).starts.override({ refused: true }),
  'shim-dies': (fault, world) => {
    const { tasks, random } = machineOf(fault, world);
    const running = tasks.running;
    if (running.length > 0) tasks.killShim(running[random.below(running.length)] ?? '');
    return NOTHING;
  },
};

function diskFaultOf({ code }: Fault): 'full' | 'read-only' | 'io' {
  return code === 'gang-open' ? 'io' : (code ?? 'io');
}

function actorOf({ target }: Fault, { actors }: FaultTargets): Actor {
  const actor = actors.get(target);
  if (actor === undefined) throw new Error(`there is no actor ${target}`);
  return actor;
}

function machineOf({ target }: Fault, { machines }: FaultTargets): Machine {
  const machine = machines.get(target);
  if (machine === undefined) throw new Error(`there is no host ${target}`);
  return machine;
}
