import type { SavedCell } from '../../src/adapters/memory/cell.ts';
import type { Actor } from '../actor/actor.ts';
import type { Ground } from '../actor/environment.ts';
import type { Machine } from '../machine/machine.ts';
import type { Fault, FaultKind } from './fault.ts';
import { backUp } from './backup.ts';
import { wordsOf } from './fault.ts';
import { loseStore } from './restore.ts';

/** What the nemesis has its hands on. */
export interface Victims {
  readonly ground: Ground;
  readonly actors: ReadonlyMap<string, Actor>;
  readonly machines: ReadonlyMap<string, Machine>;
}

type Undo = () => void;
/** @param backup what the store is restored from */
type Deed = (fault: Fault, victims: Victims, backup: () => SavedCell | null) => Undo;

/** Enters all faults of the plan into the agenda. */
export function unleash(plan: readonly Fault[], victims: Victims): void {
  const { agenda, life, history } = victims.ground;
  for (const [number, fault] of plan.entries()) {
    const what = wordsOf(fault);
    const targets = [fault.target, fault.other ?? ''].filter((name) => name !== '');
    const backup = backUp(fault, victims.ground);
    const begin = (): void => {
      history.fault({ fault: number, kind: fault.kind, phase: 'begin', targets, what });
      const undo = DEEDS[fault.kind](fault, victims, backup);
      const end = (): void => {
        undo();
        history.fault({ fault: number, kind: fault.kind, phase: 'end', targets, what });
      };
      agenda.after(fault.durationMs, life, 'fault ends', end, what);
    };
    agenda.after(fault.atMs - agenda.nowMs, life, 'fault', begin, what);
  }
}

const NOTHING: Undo = () => undefined;

const DEEDS: Readonly<Record<FaultKind, Deed>> = {
  kill: (fault, victims) => {
    const actor = actorOf(fault, victims);
    actor.kill();
    return () => actor.start();
  },
  pause: (fault, victims) => {
    const { store, agenda } = victims.ground;
    if (fault.target === store.actor) {
      store.life.pause();
      return () => agenda.resume(store.life);
    }
    const actor = actorOf(fault, victims);
    actor.pause();
    return () => actor.resume();
  },
  'freeze-host': (fault, victims) => {
    const [actor, machine] = [actorOf(fault, victims), machineOf(fault, victims)];
    actor.pause();
    machine.life.pause();
    return () => {
      victims.ground.agenda.resume(machine.life);
      actor.resume();
    };
  },
  reboot: (fault, victims) => {
    const [actor, machine] = [actorOf(fault, victims), machineOf(fault, victims)];
    if (machine.life.ended) return NOTHING;
    actor.kill();
    machine.losePower();
    return () => {
      machine.boot();
      actor.start();
    };
  },
  cut: ({ target, other = '' }, { ground }) => {
    const { weather } = ground.network;
    weather.cut(target, other);
    weather.cut(other, target);
    return () => {
      weather.heal(target, other);
      weather.heal(other, target);
    };
  },
  'cut-from': ({ target, other = '' }, { ground }) => {
    ground.network.weather.cut(target, other);
    return () => ground.network.weather.heal(target, other);
  },
  isolate: ({ target }, { ground, actors }) => {
    const { weather } = ground.network;
    const others = [...actors.keys(), ground.store.actor].filter((name) => name !== target);
    for (const other of others) weather.cut(target, other);
    for (const other of others) weather.cut(other, target);
    return () => {
      for (const other of others) weather.heal(target, other);
      for (const other of others) weather.heal(other, target);
    };
  },
  'break-connections': ({ target, other = '' }, { ground }) => {
    ground.network.breakBetween(target, other);
    return NOTHING;
  },
  'slow-network': ({ amount = 0 }, { ground }) => ground.network.weather.lay({ delayMaxMs: amount }),
  'lossy-network': ({ amount = 0 }, { ground }) => ground.network.weather.lay({ loss: amount }),
  'doubling-network': ({ amount = 0 }, { ground }) => ground.network.weather.lay({ double: amount }),
  'store-down': (_fault, { ground }) => ground.store.weather.lay({ down: true }),
  'store-full': (_fault, { ground }) => ground.store.weather.lay({ full: true }),
  restore: (_fault, { ground }, backup) => loseStore(ground, backup, 'anew'),
  'restore-bumped': (_fault, { ground }, backup) => loseStore(ground, backup, 'bumped'),
  'restore-same-id': (_fault, { ground }, backup) => loseStore(ground, backup, 'gone-back'),
  'store-lost': (_fault, { ground }, backup) => loseStore(ground, backup, 'anew'),
  'replies-lost': ({ amount = 0 }, { ground }) => ground.store.weather.lay({ replyLost: amount }),
  'requests-lost': ({ amount = 0 }, { ground }) => ground.store.weather.lay({ requestLost: amount }),
  'attempts-late': ({ amount = 0 }, { ground }) => ground.store.weather.lay({ late: amount }),
  'reads-fail': ({ amount = 0 }, { ground }) => ground.store.weather.lay({ readFails: amount }),
  'watches-lag': ({ amount = 0 }, { ground }) => ground.store.weather.lay({ watchLags: amount }),
  'watches-break': ({ amount = 0 }, { ground }) => ground.store.weather.lay({ watchBreaks: amount }),
  compact: (_fault, { ground }) => {
    ground.store.cell.compact(ground.store.cell.revision);
    ground.store.breakWatches();
    return NOTHING;
  },
  'leases-late': ({ amount = 0 }, { ground }) => ground.store.weather.lay({ leaseLateMs: amount }),
  'lease-lost': ({ target }, { ground }) => {
    ground.store.loseLeases(target);
    return NOTHING;
  },
  'disk-fails': (fault, victims) => {
    const { disk, history, host } = machineOf(fault, victims);
    const undo = disk.lay({ fault: diskFaultOf(fault) });
    history.host({ kind: 'disk', host, fault: disk.fault });
    return () => {
      undo();
      history.host({ kind: 'disk', host, fault: disk.fault });
    };
  },
  'disk-slow': (fault, victims) => machineOf(fault, victims).disk.lay({ slowness: fault.amount ?? 1 }),
  'reads-slow': (fault, victims) => machineOf(fault, victims).disk.lay({ readMaxMs: fault.amount ?? 0 }),
  'output-slow': (fault, victims) => machineOf(fault, victims).disk.lay({ rangeMaxMs: fault.amount ?? 0 }),
  'clock-step': (fault, victims) => {
    const { time } = actorOf(fault, victims);
    time.stepWall(fault.amount ?? 0);
    return () => time.stepWall(-(fault.amount ?? 0));
  },
  'clock-rate': (fault, victims) => {
    const { time } = actorOf(fault, victims);
    time.setRate(fault.amount ?? 1);
    return () => time.setRate(1);
  },
  'starts-fail': (fault, victims) => machineOf(fault, victims).starts.lay({ failing: fault.amount ?? 1 }),
  'starts-slow': (fault, victims) => machineOf(fault, victims).starts.lay({ slowness: fault.amount ?? 1 }),
  'no-processes': (fault, victims) => machineOf(fault, victims).starts.lay({ refused: true }),
  'shim-dies': (fault, victims) => {
    const { tasks, random } = machineOf(fault, victims);
    const running = tasks.running;
    if (running.length > 0) tasks.killShim(running[random.below(running.length)] ?? '');
    return NOTHING;
  },
};

function diskFaultOf({ code }: Fault): 'full' | 'read-only' | 'io' {
  return code === 'gang-open' ? 'io' : (code ?? 'io');
}

function actorOf({ target }: Fault, { actors }: Victims): Actor {
  const actor = actors.get(target);
  if (actor === undefined) throw new Error(`there is no actor ${target}`);
  return actor;
}

function machineOf({ target }: Fault, { machines }: Victims): Machine {
  const machine = machines.get(target);
  if (machine === undefined) throw new Error(`there is no host ${target}`);
  return machine;
}
