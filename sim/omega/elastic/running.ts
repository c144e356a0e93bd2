import type { ElasticJob, Phase } from './mapreduce-job.ts';
import { askedSeconds } from './mapreduce-job.ts';

/** An elastic job on its way: the hosts of its workers, and how much of which phase is left. */
export class RunningJob {
  readonly job: ElasticJob;
  readonly workers: number[] = [];
  /** Grows whenever the moment of the next change of phase has moved: what was entered in the agenda before is void. */
  plan = 0;
  /** In the queue of its scheduler, or being decided. */
  queued = false;
  /** The same for the moment when its scheduler tries again to give it workers. */
  retries = 0;
  #reducing = false;
  #over = false;
  #beganSeconds: number | null = null;
  #workersMost = 0;
  #leftSeconds: number;
  #countedTo = 0;

  constructor(job: ElasticJob) {
    this.job = job;
    this.#leftSeconds = workOf(job.map);
  }

  get phase(): Phase {
    return this.#reducing ? this.job.reduce : this.job.map;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** The most that it ever had. */
  get workersMost(): number {
    return this.#workersMost;
  }

  /** Seconds until the phase ends with the workers that are there; infinite without any. */
  get secondsLeft(): number {
    return this.#working === 0 ? Infinity : this.#leftSeconds / this.#working;
  }

  /** How many times shorter it ran than the workers that were asked for would have let it. */
  speedUp(nowSeconds: number): number {
    return askedSeconds(this.job) / Math.max(nowSeconds - (this.#beganSeconds ?? nowSeconds), 1e-3);
  }

  get #working(): number {
    return Math.min(this.workers.length, this.phase.activities);
  }

  /** Brings the account of the work that is done up to now. To be called before the workers change. */
  countWork(nowSeconds: number): void {
    this.#leftSeconds -= this.#working * (nowSeconds - this.#countedTo);
    this.#countedTo = nowSeconds;
  }

  join(hosts: Int32Array, nowSeconds: number): void {
    this.countWork(nowSeconds);
    this.#beganSeconds ??= nowSeconds;
    for (const host of hosts) this.workers.push(host);
    this.#workersMost = Math.max(this.#workersMost, this.workers.length);
  }

  /**
   * The phase is done: the next one begins, or the job is over.
   * @returns the hosts of workers that have nothing to do from here on
   */
  endPhase(nowSeconds: number): number[] {
    this.countWork(nowSeconds);
    this.#over = this.#reducing;
    this.#reducing = true;
    this.#leftSeconds = this.#over ? 0 : workOf(this.job.reduce);
    return this.workers.splice(this.#over ? 0 : this.job.reduce.activities);
  }
}

const workOf = ({ activities, seconds }: Phase): number => activities * seconds;
