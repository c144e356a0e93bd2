import { describe, expect, it } from 'vitest';
import { HostTakenError, Registrar } from '../../../../host-agent/api/registration.ts';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { Attempt, CellStore, Session } from '../../../../src/ports/cell-store.ts';
import { aliveCodec } from '../../../../src/wire/host-files/host-files.ts';
import { hostCodec } from '../../../../src/wire/records/records.ts';
import { HOST_FACTS } from '../../../support/host-world.ts';
import { ManualClock, until } from '../../../support/manual-clock.ts';

const keys = cellKeys('test');

class Registrant {
  readonly stateId: string;
  host;

  constructor(id: string, stateId: string, incarnation: number) {
    this.stateId = stateId;
    this.host = { ...HOST_FACTS, id, bootId: 'boot', incarnation };
  }

  async raiseIncarnation(above: number): Promise<void> {
    this.host = { ...this.host, incarnation: above + 1 };
  }
}

function setup() {
  const clock = new ManualClock();
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const registrarOf = (some: readonly Registrant[], via: CellStore = store): Registrar =>
    new Registrar(
      { store: via, keys, clock, random: seededRandom(1), log: silentLog, aliveTtlMs: 5_000 },
      some,
    );
  const read = async (id: string) => {
    const { entries } = await store.read([keys.host(id), keys.aliveOf(id)]);
    const [host, alive] = [entries.get(keys.host(id)), entries.get(keys.aliveOf(id))];
    return {
      host: host === undefined ? null : hostCodec.decode(host.value),
      alive: alive === undefined ? null : aliveCodec.decode(alive.value),
    };
  };
  return { clock, cell, store, registrarOf, read };
}

describe('registration', () => {
  it('S4.4 hosts are found in the store: many in few transactions, all alive under one session', async () => {
    const { registrarOf, read, store, cell } = setup();
    const hosts = Array.from(
      { length: 200 },
      (_, i) => new Registrant(`host-${String(i)}`, `state-${String(i)}`, 5),
    );
    const before = cell.revision;
    const registrar = registrarOf(hosts);
    await registrar.start();
    expect(registrar.registered).toBe(true);
    expect(cell.revision - before).toBeLessThan(10);
    expect(await read('host-199')).toMatchObject({
      host: { incarnation: 5 },
      alive: { stateId: 'state-199' },
    });
    await registrar.close();
    expect((await store.list(keys.alive)).entries.size).toBe(0);
    expect((await store.list(keys.hosts)).entries.size).toBe(200);
  });

  it('another state folder under the same id is refused while the first lives, and welcome afterwards', async () => {
    const { registrarOf, read } = setup();
    const first = registrarOf([new Registrant('host-a', 'one', 500)]);
    await first.start();
    const second = new Registrant('host-a', 'other', 10);
    const refused = registrarOf([second]);
    await expect(refused.start()).rejects.toThrow(HostTakenError);
    await refused.close();
    expect((await read('host-a')).host?.incarnation).toBe(500);
    await first.close();
    const welcome = registrarOf([second]);
    await welcome.start();
    // What it says must come after all that was said under this id before.
    expect((await read('host-a')).host?.incarnation).toBe(501);
    await welcome.close();
  });

  it('the same state folder takes over at once, also from an agent that was killed', async () => {
    const { registrarOf, read } = setup();
    await registrarOf([new Registrant('host-a', 'one', 5)]).start();
    const next = registrarOf([new Registrant('host-a', 'one', 6)]);
    await next.start();
    expect(await read('host-a')).toMatchObject({ host: { incarnation: 6 }, alive: { incarnation: 6 } });
    await next.close();
  });

  it('an attempt whose answer was lost is read back, and its incarnation stays', async () => {
    const { read, store, clock } = setup();
    let lost = 0;
    const lossy: CellStore = Object.create(store, {
      attempt: {
        value: async (attempt: Parameters<CellStore['attempt']>[0]) => {
          const reply = await store.attempt(attempt);
          lost += 1;
          return lost === 1 ? { outcome: 'unknown', cause: new Error('cut') } : reply;
        },
      },
      limits: { value: store.limits },
      read: { value: store.read.bind(store) },
      openSession: { value: store.openSession.bind(store) },
    }) as CellStore;
    const registrant = new Registrant('host-a', 'one', 5);
    const registrar = new Registrar(
      { store: lossy, keys, clock, random: seededRandom(1), log: silentLog, aliveTtlMs: 5_000 },
      [registrant],
    );
    const started = registrar.start();
    while (lost < 2) await clock.advance(100);
    await started;
    expect(registrant.host.incarnation).toBe(5);
    expect((await read('host-a')).host?.incarnation).toBe(5);
    await registrar.close();
  });

  it('sends nothing more under a session that was lost while it registered, and begins anew with another', async () => {
    const { registrarOf, read, store, clock } = setup();
    const sessions: Session[] = [];
    const sentUnder: number[] = [];
    const lossy: CellStore = Object.create(store, {
      attempt: {
        value: async (attempt: Attempt) => {
          const session = attempt.writes.map((write) => (write.kind === 'put' ? write.session : undefined));
          sentUnder.push(sessions.findIndex((one) => session.includes(one)));
          if (sentUnder.length > 2) return store.attempt(attempt);
          if (sentUnder.length === 2) await sessions[0]?.close();
          return { outcome: 'unknown', cause: new Error('cut') };
        },
      },
      limits: { value: store.limits },
      read: { value: store.read.bind(store) },
      openSession: {
        value: async (options: Parameters<CellStore['openSession']>[0]) => {
          const session = await store.openSession(options);
          sessions.push(session);
          return session;
        },
      },
    }) as CellStore;
    const registrar = registrarOf([new Registrant('host-a', 'one', 5)], lossy);
    const started = registrar.start();
    for (let i = 0; i < 100 && !registrar.registered; i++) await clock.advance(100);
    await started;
    await until(() => registrar.registered, 'the registration');
    expect(sentUnder).toEqual([0, 0, 1]);
    expect((await read('host-a')).alive?.stateId).toBe('one');
    await registrar.close();
  });

  it('while the store is away the agent goes on, and registers when it is back', async () => {
    const { registrarOf, read, store, clock } = setup();
    store.cutOff();
    const registrar = registrarOf([new Registrant('host-a', 'one', 5)]);
    await registrar.start();
    expect(registrar.registered).toBe(false);
    store.reconnect();
    for (let i = 0; i < 100 && !registrar.registered; i++) await clock.advance(100);
    await until(() => registrar.registered, 'the registration');
    expect((await read('host-a')).alive?.stateId).toBe('one');
    await registrar.close();
  });
});
