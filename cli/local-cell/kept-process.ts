import { Restarts } from './restarts.ts';

/** How a process ended. */
export interface ProcessEnd {
  /** A signal's name, an exit code, or why it could not be started. */
  readonly how: string;
  readonly livedMs: number;
}

/** One process, from its start to its end. `R` is what is known of it when it serves. */
export interface ProcessLife<R> {
  /** 0: there is none yet. */
  readonly pid: number;
  /** Rejects when it ends or stays silent before it serves; the message ends with the last lines of its log. */
  readonly ready: Promise<R>;
  /** Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  /** What it logged last. */
  readonly lastLines: readonly string[];
  /** SIGTERM, then SIGKILL after `graceMs`. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
}

export interface KeptProcessOptions<R> {
  readonly name: string;
  /** For messages. */
  readonly logFile: string;
  /** Start it again whenever it ends without an order to stop. */
  readonly keepUp: boolean;
  /** @param earlier what was known of its first life, whose address it keeps: other processes have recorded it */
  readonly launch: (earlier: R | null) => ProcessLife<R>;
  /** It ended by itself, or serves again. */
  readonly onEvent: (text: string) => void;
}

const STOP_GRACE_MS = 10_000;

/** A process that is started again whenever it ends by itself, as an operator's supervisor would, however often it ends. */
export class KeptProcess<R> {
  readonly name: string;
  readonly #options: KeptProcessOptions<R>;
  readonly #restarts = new Restarts();
  #life: ProcessLife<R> | null = null;
  #ready: R | null = null;
  #stopping = false;
  #cancelWait: () => void = () => undefined;

  constructor(options: KeptProcessOptions<R>) {
    this.name = options.name;
    this.#options = options;
  }

  /** Of the present life: changes when the process was started again. */
  get pid(): number {
    return this.#life?.pid ?? 0;
  }

  get ready(): R {
    if (this.#ready === null) throw new Error(`${this.name} is not ready yet`);
    return this.#ready;
  }

  /** @throws when its first life ends or stays silent before it serves, or is stopped */
  async start(): Promise<void> {
    const first = this.#launch();
    const ready = await first.ready;
    if (this.#isStopping()) throw new Error(`${this.name} was stopped during its start`);
    this.#ready = ready;
    void this.#watchOver(first);
  }

  /** Ends it, and has it started again as when it ends by itself. */
  async restart(graceMs = STOP_GRACE_MS): Promise<void> {
    await this.#life?.stop(graceMs);
  }

  /** Resolves when it is gone, and will not be started again. */
  async stop(graceMs = STOP_GRACE_MS): Promise<void> {
    this.#stopping = true;
    this.#cancelWait();
    await this.#life?.stop(graceMs);
  }

  #launch(): ProcessLife<R> {
    return (this.#life = this.#options.launch(this.#ready));
  }

  async #watchOver(first: ProcessLife<R>): Promise<void> {
    for (let life = first; ;) {
      const end = await life.ended;
      if (this.#isStopping()) return;
      if (!this.#options.keepUp) return this.#print(`ended (${end.how}); its log: ${this.#options.logFile}`);
      await this.#delayRestart(life, end);
      if (this.#isStopping()) return;
      life = this.#launch();
      await this.#tellWhenUp(life);
    }
  }

  /** A process that never lives long waits before its next start; the end of its log is printed meanwhile. */
  async #delayRestart({ lastLines }: ProcessLife<R>, { how, livedMs }: ProcessEnd): Promise<void> {
    const waitMs = this.#restarts.ended(livedMs);
    if (waitMs === 0) return this.#print(`ended (${how}); it is started again`);
    const head = `ended (${how}), ${String(this.#restarts.early)} times in a row soon after its start`;
    const next = `it is started again in ${String(waitMs / 1000)} s; its log, ${this.#options.logFile}, ends with:`;
    this.#print([`${head}; ${next}`, ...lastLines.map((line) => `  ${line}`)].join('\n'));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#cancelWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #tellWhenUp(life: ProcessLife<R>): Promise<void> {
    const startedMs = performance.now();
    try {
      await life.ready;
      const tookMs = (performance.now() - startedMs).toFixed(0);
      this.#print(`is up again after ${tookMs} ms, as process ${String(life.pid)}`);
    } catch {
      // It has ended, or is about to: every end is printed.
    }
  }

  #isStopping(): boolean {
    return this.#stopping;
  }

  #print(text: string): void {
    this.#options.onEvent(`${this.name} ${text}`);
  }
}
