import type { Random } from '../../../src/ports/random.ts';
import type { AgentProcess, Birth } from '../host-process.ts';

/**
 * When an agent dies: while it takes its folder over (or before it has loaded its program), any time after its first
 * answer, or once its clients talk to it.
 */
export const MOMENTS = ['opening', 'serving', 'talking'] as const;
export type Moment = (typeof MOMENTS)[number];

/** `talking` as often as the two other moments together: only there clients do something. */
const MOMENTS_DRAWN: readonly Moment[] = ['opening', 'serving', 'talking', 'talking'];
/** Without a life in which they talk, clients get nowhere. */
const SILENT_LIVES_MAX = 3;
/** An agent is killed within this time after its first answer, or after its clients have begun to talk. */
const LIFE_MS = 150;
/** Loading takes this share of the time until an agent serves, or more. */
const LOADING_SHARE = 0.4;

export interface LivesOptions {
  /** Starts an agent on the one folder of this run. */
  readonly begin: () => Birth;
  readonly random: Pick<Random, 'fraction'>;
  /** Resolves when clients have talked to the agent that serves now. */
  readonly talked: () => Promise<void>;
}

/** The agents of one folder, each born when the one before was killed. */
export class AgentLives {
  readonly #options: LivesOptions;
  #birth: Birth;
  #agent: AgentProcess | null = null;
  #waiting: ((agent: AgentProcess) => void)[] = [];
  #silent = 0;
  #kills = 0;
  /** How long the last one took to serve, from the start of its process. */
  #openMs = 0;

  private constructor(options: LivesOptions, birth: Birth) {
    this.#options = options;
    this.#birth = birth;
  }

  static async begin(options: LivesOptions): Promise<AgentLives> {
    const lives = new AgentLives(options, options.begin());
    await lives.#serve();
    return lives;
  }

  get kills(): number {
    return this.#kills;
  }

  /** Addresses of those that serve: one, or none. */
  get addresses(): readonly string[] {
    return this.#agent === null ? [] : [this.#agent.address];
  }

  /** Resolves with the agent that serves. */
  serving(): Promise<AgentProcess> {
    return this.#agent === null
      ? new Promise((resolve) => this.#waiting.push(resolve))
      : Promise.resolve(this.#agent);
  }

  isServing(agent: AgentProcess): boolean {
    return this.#agent === agent;
  }

  /** Kills the agent at a random instant, and starts another; one that only opens is killed besides. @returns when it was */
  async die(): Promise<Moment> {
    const moment = this.#nextMoment();
    if (moment === 'opening') {
      await this.#kill();
      const share = LOADING_SHARE + (1.1 - LOADING_SHARE) * this.#options.random.fraction();
      await pause(share * this.#openMs);
    } else {
      const agent = await this.serving();
      if (moment === 'talking') await this.#options.talked();
      if (!this.isServing(agent)) throw new Error('the agent ended without being killed');
      await pause(LIFE_MS * this.#options.random.fraction());
    }
    await this.#kill();
    await this.#serve();
    return moment;
  }

  async end(): Promise<void> {
    const agent = this.#agent;
    this.#agent = null;
    await (agent === null ? this.#birth.kill() : agent.end('SIGTERM'));
  }

  #nextMoment(): Moment {
    const drawn =
      MOMENTS_DRAWN[Math.floor(this.#options.random.fraction() * MOMENTS_DRAWN.length)] ?? 'talking';
    const moment = this.#silent >= SILENT_LIVES_MAX ? 'talking' : drawn;
    this.#silent = moment === 'talking' ? 0 : this.#silent + 1;
    return moment;
  }

  /** Also one that does not serve yet. */
  async #kill(): Promise<void> {
    this.#agent = null;
    this.#kills += 1;
    await this.#birth.kill();
    this.#birth = this.#options.begin();
  }

  async #serve(): Promise<void> {
    this.#agent = await this.#birth.serving;
    this.#openMs = this.#agent.readyMs;
    for (const resolve of this.#waiting.splice(0)) resolve(this.#agent);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
