import type { SeededRandom } from '../../src/core/random/random.ts';
import type { CommandEnd, Commands } from '../../src/ports/commands.ts';
import type { Life } from '../agenda/life.ts';
import type { Machine } from './machine.ts';

/** The volume driver that hosts of the simulated worlds have. */
export const VOLUME_DRIVER = 'share';
const PROGRAM = '/usr/libexec/share';
export const VOLUME_DRIVERS = new Map([[VOLUME_DRIVER, { command: PROGRAM, options: '' }]]);

const ANSWER_MS_MAX = 300;
/** So often at most a host cannot detach before it can. */
const BUSY_MAX = 2;
const HELD = 3;

/**
 * Storage that all machines reach, behind the program of a volume driver (docs/volume-drivers.md). In the worlds of every
 * second seed it refuses a second host, as a driver should; in the others it is a folder that anybody may mount, so that only
 * the cell itself keeps two holders apart.
 */
export class SharedStorage {
  readonly #random: SeededRandom;
  readonly #refuses: boolean;
  /** By data, the host that has it; null: none does. */
  readonly #holders = new Map<string, string | null>();
  /** By host and data, how often it is busy yet. */
  readonly #busy = new Map<string, number>();

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#refuses = random.below(2) === 0;
  }

  /** Programs as one agent runs them: what was begun goes on when the agent dies, and nobody hears of it. */
  commandsOf(machine: Machine, life: Life): Commands {
    const { agenda, host } = machine;
    return {
      run: (command) =>
        new Promise((resolve) => {
          const at = command.indexOf(PROGRAM);
          const [verb = '', ...names] = command.slice(at + 1);
          const data = names.join('/');
          const done = (): void => {
            const end = at < 0 || command[0] === 'test' ? answered(command) : this.#do(verb, data, host);
            if (!life.ended) agenda.after(0, life, 'program', () => resolve(end), data);
          };
          // Of one data a driver does one thing at a time.
          const delayMs = machine.inOrder(`program ${data}`, this.#random.fraction() * ANSWER_MS_MAX);
          agenda.after(delayMs, machine.life, 'program', done, data);
        }),
    };
  }

  #do(verb: string, data: string, host: string): CommandEnd {
    const holder = this.#holders.get(data);
    switch (verb) {
      case 'create':
        this.#holders.set(data, holder ?? null);
        return DONE;
      case 'attach':
        if (holder === undefined) return failed(1, `there is no ${data}`);
        if (this.#refuses && holder !== null && holder !== host) return failed(HELD, `${holder} has it`);
        this.#holders.set(data, host);
        return { ...DONE, out: `/mnt/${data}\n` };
      case 'detach':
        if (this.#isBusy(`${host} ${data}`)) return failed(1, 'target is busy');
        if (holder === host) this.#holders.set(data, null);
        return DONE;
      case 'force-detach':
        this.#holders.set(data, null);
        return DONE;
      default:
        return failed(1, `what is ${verb}?`);
    }
  }

  #isBusy(key: string): boolean {
    const left = this.#busy.get(key) ?? this.#random.below(BUSY_MAX + 1);
    this.#busy.set(key, left - 1);
    return left > 0;
  }
}

/** Of the programs that make folders ready. Whatever else an agent looks for is not there. */
function answered([program = '']: readonly string[]): CommandEnd {
  return ['test', 'chmod', 'sh'].includes(program) ? DONE : failed(127, `${program}: not found`);
}

const DONE: CommandEnd = { code: 0, out: '', err: '' };

function failed(code: number, err: string): CommandEnd {
  return { code, out: '', err };
}
