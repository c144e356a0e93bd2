import type { SeededRandom } from '../../src/core/random/random.ts';
import type { CommandEnd, Commands } from '../../src/ports/commands.ts';
import type { Life } from '../agenda/life.ts';
import type { Machine } from '../machine/machine.ts';
import type { Actor } from './actor.ts';
import type { Environment } from './environment.ts';

/** The fence that jobs of the simulated worlds name. */
export const FENCE = 'power';

/** So often at most a host is not fenced before it is. */
const REFUSALS_MAX = 2;
const ANSWER_MS_MAX = 1_500;
/** From the loss of power to the next boot. */
const OFF_MS = 2_000;
/** Beyond those of any plan. */
const FAULTS_FROM = 10_000;

/**
 * A program that turns a machine's power off and on again, for all monitors. It says yes when nothing of the boot before runs any more;
 * before that it says no as often as the seed draws. Machines that are off already are fenced.
 */
export class PowerFences {
  readonly #environment: Environment;
  readonly #machines: ReadonlyMap<string, Machine>;
  readonly #actors: ReadonlyMap<string, Actor>;
  readonly #random: SeededRandom;
  readonly #refusals = new Map<string, number>();
  #faults = FAULTS_FROM;

  constructor(
    environment: Environment,
    {
      machines,
      actors,
    }: { readonly machines: ReadonlyMap<string, Machine>; readonly actors: ReadonlyMap<string, Actor> },
  ) {
    this.#environment = environment;
    this.#machines = machines;
    this.#actors = actors;
    this.#random = environment.random.split('fences');
  }

  /** As a monitor runs it: what it began goes on when the monitor dies, and nobody hears of it. */
  commandsOf(life: Life): Commands {
    const { agenda, life: world } = this.#environment;
    return {
      run: ([, , host = '']) =>
        new Promise((resolve) => {
          const delayMs = this.#random.fraction() * ANSWER_MS_MAX;
          const done = (): void => {
            const end = this.#fence(host);
            agenda.after(0, life, 'fence', () => resolve(end), host);
          };
          agenda.after(delayMs, world, 'fence', done, host);
        }),
    };
  }

  #fence(host: string): CommandEnd {
    const left = this.#refusals.get(host) ?? this.#random.below(REFUSALS_MAX + 1);
    this.#refusals.set(host, left - 1);
    if (left > 0) return { code: 1, out: '', err: 'still on' };
    this.#powerCycle(host);
    return { code: 0, out: '', err: '' };
  }

  #powerCycle(host: string): void {
    const [actor, machine] = [this.#actors.get(host), this.#machines.get(host)];
    if (actor === undefined || machine === undefined) throw new Error(`there is no host ${host}`);
    if (machine.life.ended) return;
    const { agenda, life, history } = this.#environment;
    const fault = { fault: this.#faults++, kind: 'reboot', targets: [host], what: `fence ${host}` } as const;
    history.add('nemesis', { ...fault, phase: 'begin' });
    actor.kill();
    machine.losePower();
    const boot = (): void => {
      // A fault of the plan may have booted it meanwhile.
      if (machine.life.ended) machine.boot();
      actor.start();
      history.add('nemesis', { ...fault, phase: 'end' });
    };
    agenda.after(OFF_MS, life, 'fence', boot, host);
  }
}
