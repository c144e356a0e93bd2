/**
 * One run. `run-world.ts` makes a plan from the options, builds the world, drives it through the time of faults and the quiet time after
 * it, and has the history checked.
 *
 * - `options.ts`: what a run is given, and what it results in; `scenario.ts`: how large the cell is and what clients ask of it
 * - `plan.ts`: the faults and requests of a run, as drawn or as given
 * - `view-recorder.ts`: writes down what monitors show, and what agents say at the end; `name-recorder.ts`: what agents know of names
 * - `shared-records.ts`: decodes each text of the store once for all actors of a thread
 * - `work.ts`: counts what was done; `failure.ts`: whether and how a run failed
 *
 * This file builds everything that there is in one run: the environment, machines and actors.
 */
import type { HostAgent } from '../../host-agent/agent.ts';
import type { KnownNames } from '../../host-agent/names/names.ts';
import type { Monitor } from '../../monitor/monitor.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { ADDRESSES } from '../../src/core/cell/resources.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { quotaCodec } from '../../src/wire/records/records.ts';
import { budgetPolicyCodec } from '../../src/wire/budgets/budget-records.ts';
import { remedyPolicyCodec } from '../../src/wire/verdicts/verdict-records.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { History } from '../history/history.ts';
import { Machine } from '../machine/machine.ts';
import { SharedStorage } from '../machine/shared-storage.ts';
import type { AgendaObserver } from '../agenda/agenda.ts';
import { Agenda } from '../agenda/agenda.ts';
import { Life } from '../agenda/life.ts';
import type { LogLevel, TraceSink } from '../agenda/trace.ts';
import { SimNetwork } from '../network/network.ts';
import { NetworkFaultProfile } from '../network/fault-profile.ts';
import { StoreServer } from '../store/server.ts';
import { StoreFaultProfile } from '../store/fault-profile.ts';
import type { Fault } from '../nemesis/fault.ts';
import { RESTORES } from '../nemesis/fault.ts';
import { recordRandomFaults } from '../nemesis/random-faults.ts';
import type { Actor } from '../actor/actor.ts';
import { clientActor } from '../actor/client.ts';
import { arbiterActor, CELL, monitorActor, schedulerActor } from '../actor/control-roles.ts';
import { followerActor } from '../actor/event-follower.ts';
import type { Environment } from '../actor/environment.ts';
import { hostActor } from '../actor/host-role.ts';
import type { WorldOptions } from './options.ts';
import { PowerFences } from '../actor/power-fences.ts';
import { outputReaderActor } from '../actor/output-reader.ts';
import type { WorldPlan } from './plan.ts';
import { numbered, schedulersOf } from './plan.ts';
import type { Scenario } from './scenario.ts';
import type { Request } from '../actor/client.ts';
import { namesIn } from '../actor/client.ts';
import { busyBacklogOf, gangMaxOf, isFollowed, isFollowedFromNow, isRead } from './scenario.ts';

/** As in production: the jobs and hosts of a dead role are taken over within this time. */
const SESSION_TTL_MS = 10_000;

/** The addresses that each host lends to tasks: so few that they run out now and then. */
const ADDRESS_POOL: readonly string[] = [1, 2, 3, 4].map((n) => `127.64.0.${String(n)}`);

/** The hosts' and roles' first steps, spread over this time. */
const START_SPREAD_MS = 50;

/** Everything that there is in one run: built, and then driven by `runWorld`. */
export class World {
  readonly environment: Environment;
  readonly actors = new Map<string, Actor>();
  readonly machines = new Map<string, Machine>();
  /** By host, the agent that is up or was up last. */
  readonly agents = new Map<string, HostAgent>();
  readonly monitors = new Map<string, Monitor>();
  /** What the agent of each host that is up or was up last knows of names, where it follows any. */
  readonly known = new Map<string, KnownNames>();
  /** Of all that clients ask for. */
  readonly names: readonly string[];
  /** Errors that roles logged: routes that failed inside, and the like. */
  readonly errors: string[] = [];
  readonly #trace: TraceSink | undefined;
  readonly #storage: SharedStorage | null;
  #unserved = 0;
  readonly #endRandomFaults: readonly (() => void)[];

  constructor(options: WorldOptions, { requests, faults: plan }: WorldPlan, observe: AgendaObserver) {
    const { seed, scenario, faults } = options;
    this.#trace = options.trace;
    const random = seededRandom(seed);
    const agenda = new Agenda(observe);
    const history = new History(() => agenda.nowMs);
    const network = new SimNetwork(agenda, new NetworkFaultProfile(random.split('network')));
    const store = new StoreServer({
      agenda,
      faults: new StoreFaultProfile(random.split('store')),
      onRevision: (revision, actor, changes, attempt) => history.revision(revision, actor, changes, attempt),
    });
    this.environment = {
      ...{ agenda, history, store, random, life: new Life('world'), keys: cellKeys(CELL) },
      ...{ network, logOf: (actor) => this.#logOf(actor) },
    };
    this.#endRandomFaults = [
      network.faults.override(faults.network ?? {}),
      store.faults.override(faults.store ?? {}),
      recordRandomFaults(faults, plan.length, history),
    ];
    this.names = namesIn(requests);
    this.#storage = scenario.volumes === true ? new SharedStorage(random.split('storage')) : null;
    for (const host of numbered('host', scenario.hosts)) this.#addHost(host, options);
    this.#addRoles(options);
    this.#addClient(requests, plan, options.scenario);
    if (isFollowed(scenario, seed)) this.#addFollower(options);
    if (isRead(scenario, seed))
      this.#add(outputReaderActor(this.environment, 'client-3', this.#monitorNames));
    this.#setLimits(scenario);
  }

  /** Brings everything up, in an order that the seed draws. */
  start(): void {
    const { agenda, life, random } = this.environment;
    const starts = random.split('starts');
    for (const actor of this.actors.values())
      agenda.after(starts.fraction() * START_SPREAD_MS, life, 'power on', () => actor.start(), actor.name);
  }

  /** Has every request of the clients come to its end? */
  get isServed(): boolean {
    return this.#unserved === 0;
  }

  /** Ends the random faults; what is under way arrives. */
  endRandomFaults(): void {
    for (const undo of this.#endRandomFaults) undo();
  }

  /** Nothing of it ever happens again. */
  end(): void {
    for (const actor of this.actors.values()) actor.life.end();
    for (const machine of this.machines.values()) machine.life.end();
    this.environment.store.life.end();
    this.environment.life.end();
    this.environment.store.abandonAll();
  }

  get #monitorNames(): readonly string[] {
    return [...this.actors.values()].filter(({ role }) => role === 'monitor').map(({ name }) => name);
  }

  #addHost(host: string, { scenario }: WorldOptions): void {
    const { agenda, random, history } = this.environment;
    const machine = new Machine({ host, agenda, history, random: random.split(`machine ${host}`) });
    this.machines.set(host, machine);
    const { hostCpuMilli: cpuMilli, hostMemoryMib: memoryMib, gpuModels = [], enforcement } = scenario;
    const scalars = { [ADDRESSES]: ADDRESS_POOL.length };
    const capacity = { cpuMilli, memoryMib, diskMib: 100_000, scalars };
    this.#add(
      hostActor(this.environment, {
        ...{ machine, capacity, gpuModels, addresses: ADDRESS_POOL, enforcement, aliveTtlMs: SESSION_TTL_MS },
        names: scenario.names === true ? this.names : null,
        storage: this.#storage,
        onUp: (agent, known) => {
          this.agents.set(host, agent);
          if (known !== null) this.known.set(host, known);
        },
      }),
    );
  }

  #addRoles({ scenario, seed }: WorldOptions): void {
    const { enforcement, monitors, arbiters } = scenario;
    for (const { kind, id } of schedulersOf(scenario))
      this.#add(
        schedulerActor(this.environment, {
          ...{ id, kind, enforcement, sessionTtlMs: SESSION_TTL_MS },
          ...{ gangMax: gangMaxOf(scenario, seed), busyBacklog: busyBacklogOf(scenario, seed) },
          ...(scenario.elastic === undefined ? {} : { elastic: scenario.elastic }),
          ...(scenario.orphanMs === undefined ? {} : { orphanMs: scenario.orphanMs }),
        }),
      );
    const fences = scenario.fences === true ? new PowerFences(this.environment, this) : null;
    const { orphanMs, fullBucketMs } = scenario;
    const reaper = {
      ...(orphanMs === undefined ? {} : { orphanMs }),
      ...(fullBucketMs === undefined ? {} : { fullBucketMs }),
    };
    for (const id of numbered('monitor', monitors))
      this.#add(
        monitorActor(this.environment, id, { fences, reaper }, (monitor) => this.monitors.set(id, monitor)),
      );
    for (const id of numbered('arbiter', arbiters))
      this.#add(arbiterActor(this.environment, id, SESSION_TTL_MS));
  }

  #addClient(requests: readonly Request[], plan: readonly Fault[], scenario: Scenario): void {
    const { shared, hostActions = [], movesAtMs = [] } = scenario;
    const restores = plan.filter(({ kind }) => RESTORES.has(kind));
    const restoredMs = restores.map(({ atMs, durationMs }) => atMs + durationMs);
    const monitors = this.#monitorNames;
    this.#unserved = requests.length;
    const onServed = (): void => void (this.#unserved -= 1);
    this.#add(
      clientActor(this.environment, {
        ...{ name: 'client-1', monitors, requests, shared, hostActions, movesAtMs, restoredMs, onServed },
      }),
    );
  }

  #addFollower({ scenario, seed }: WorldOptions): void {
    const own = this.environment.random.split('follower');
    const following = isFollowedFromNow(seed)
      ? { since: 'now' as const, afterMs: (own.fraction() * scenario.activeMs) / 4 }
      : { since: '0' as const, afterMs: 0 };
    this.#add(followerActor(this.environment, 'client-2', this.#monitorNames, following));
  }

  /** What operators say, as monitors would write it. */
  #setLimits({ quota, remedies, budgets }: Scenario): void {
    const { keys } = this.environment;
    if (quota !== undefined)
      this.#set('quota', quota.atMs, keys.quota(quota.limits.namespace), quotaCodec.encode(quota.limits));
    if (budgets !== undefined) this.#set('budgets', 0, keys.budgets, budgetPolicyCodec.encode(budgets));
    if (remedies !== undefined) this.#set('remedies', 0, keys.remedies, remedyPolicyCodec.encode(remedies));
  }

  #set(what: string, atMs: number, key: string, value: string): void {
    const { agenda, life, store } = this.environment;
    const set = (): void =>
      void store.apply('operator', { compares: [], readBack: [], writes: [{ kind: 'put', key, value }] });
    agenda.after(atMs, life, what, set);
  }

  #add(actor: Actor): void {
    this.actors.set(actor.name, actor);
  }

  #logOf(actor: string): Log {
    const write = (level: LogLevel): Log['info'] => {
      const log = this.#trace?.log;
      if (log === undefined && level !== 'error') return () => undefined;
      return (fields, message) => {
        if (level === 'error' && this.errors.length < ERRORS_MAX)
          this.errors.push(`${actor}: ${message}: ${textOf(fields['error'])}`);
        log?.(this.environment.agenda.nowMs, actor, level, fields, message);
      };
    };
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  }
}

/** A role that fails again and again logs the same error each time. */
const ERRORS_MAX = 50;

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : '';
}
