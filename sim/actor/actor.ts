/**
 * The processes of a simulated cell. An actor has a name and one life after the other; the world starts it, the nemesis kills or pauses it,
 * and a supervisor starts it again when it fails.
 *
 * - `environment.ts`: what all actors of a world share
 * - `role-ports.ts`: the ports of a role for one life
 * - `control-roles.ts`: schedulers, monitors and arbiters; `host-role.ts`: a host-agent on its machine
 * - `power-fences.ts`: what monitors fence lost hosts with
 * - `tickets.ts`: signing and verifying without keys; `digest.ts`: the digest of a launch
 * - `order-recorder.ts`: writes the orders to an agent and its answers into the history
 * - `client.ts`: submits jobs, runs and stops, and acts as the cell's operator
 * - `event-follower.ts` follows the cell's events; `output-reader.ts` reads what tasks write
 * - `monitor-client.ts`: what these three clients have in common
 */
import type { Identity } from '../../src/core/access/identity.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import type { ActorKind } from '../history/facts.ts';
import { Life } from '../agenda/life.ts';
import { Timekeeper, VirtualClock } from '../agenda/virtual-clock.ts';
import type { Environment } from './environment.ts';

/** What an actor is given for one life. */
export interface LifePorts {
  readonly life: Life;
  readonly identity: Identity;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: SeededRandom;
}

export interface ActorParts {
  readonly name: string;
  readonly role: ActorKind;
  /** The clocks of its machine; default: true ones of its own. */
  readonly time?: Timekeeper;
  /** false: its machine is off. */
  readonly mayStart?: () => boolean;
  /** Brings the role up. Rejects when it cannot start; `failed` is for what goes wrong later. */
  readonly boot: (ports: LifePorts, failed: (error: unknown) => void) => Promise<void>;
}

/** After this time a supervisor restarts a role that failed. */
const RESTART_MS = 1_000;

/** A role's process: started, killed, paused and started again by the world. */
export class Actor {
  readonly name: string;
  readonly role: ActorKind;
  readonly time: Timekeeper;
  readonly #environment: Environment;
  readonly #parts: ActorParts;
  #life: Life;
  #instance = 0;

  constructor(environment: Environment, parts: ActorParts) {
    this.name = parts.name;
    this.role = parts.role;
    this.time = parts.time ?? new Timekeeper(environment.agenda);
    this.#environment = environment;
    this.#parts = parts;
    this.#life = new Life(this.name, 0);
    this.#life.end();
  }

  get life(): Life {
    return this.#life;
  }

  get instance(): number {
    return this.#instance;
  }

  get isUp(): boolean {
    return !this.#life.ended;
  }

  /** Does nothing when it is up, or its machine is off. */
  start(): void {
    if (this.isUp || this.#parts.mayStart?.() === false) return;
    const { agenda, random, logOf } = this.#environment;
    this.#instance += 1;
    const life = new Life(this.name, this.#instance);
    this.#life = life;
    this.#record('started');
    const { name: id, role } = this;
    const ports: LifePorts = {
      life,
      identity: { cell: 'sim', role: role === 'client' ? 'operator' : role, id },
      clock: new VirtualClock(agenda, life, this.time),
      log: logOf(this.name),
      random: random.split(`${this.name}#${String(this.#instance)}`),
    };
    const failed = (error: unknown): void => this.#failed(life, error);
    agenda.after(0, life, 'start', () => void this.#parts.boot(ports, failed).catch(failed));
  }

  /** As kill -9. */
  kill(): void {
    if (!this.isUp) return;
    this.#record('killed');
    this.#end();
  }

  pause(): void {
    if (!this.isUp || this.#life.paused) return;
    this.#record('paused');
    this.#life.pause();
  }

  resume(): void {
    if (!this.isUp || !this.#life.paused) return;
    this.#record('resumed');
    this.#environment.agenda.resume(this.#life);
  }

  #failed(life: Life, error: unknown): void {
    if (life.ended) return;
    this.#environment.logOf(this.name).error({ error }, 'the process ends by itself');
    this.#record('failed');
    this.#end();
    this.#environment.agenda.after(
      RESTART_MS,
      this.#environment.life,
      'restart',
      () => this.start(),
      this.name,
    );
  }

  #end(): void {
    const life = this.#life;
    life.end();
    this.#environment.network.reset(life);
  }

  #record(change: 'started' | 'killed' | 'failed' | 'paused' | 'resumed'): void {
    const { name, role } = this;
    this.#environment.history.add('actors', { actor: name, role, instance: this.#instance, change });
  }
}
