import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { parseAttemptName } from '../../src/wire/host-files/attempt-files.ts';
import { SimNetwork } from '../network/network.ts';
import type { LifePorts } from './actor.ts';
import { Actor } from './actor.ts';
import type { Environment } from './environment.ts';

/** How soon after its first line a task finds its reader. */
const LOOK_MS = 300;
const AGAIN_MS = 500;
/** A refusal may pass: a monitor that has just started knows nothing yet. Who was refused so often in a row asks less often. */
const REFUSALS_PATIENT = 8;
const SELDOM_MS = 2_000;
/** Longer silence is a dead connection: soon enough to be seen in the quiet time. Asked again, a silent task costs little. */
const SILENCE_MS = 10_000;
/** Of a run; every stream costs some events for each line. */
const READ_MAX = 8;

/** Somebody who reads all that tasks write, from its beginning to its end, at one monitor after another. */
export function outputReaderActor(
  environment: Environment,
  name: string,
  monitors: readonly string[],
): Actor {
  return new Actor(environment, {
    name,
    role: 'client',
    boot: (ports) => {
      const http = environment.network.client({ life: ports.life, clock: ports.clock, log: ports.log });
      const client = new MonitorClient(http, {
        urls: monitors.map((monitor) => SimNetwork.addressOf(monitor)),
        from: name,
      });
      void new OutputReader(environment, name, client, ports).readAll();
      return Promise.resolve();
    },
  });
}

class OutputReader {
  readonly #environment: Environment;
  readonly #name: string;
  readonly #client: MonitorClient;
  readonly #ports: LifePorts;
  readonly #found = new Set<string>();
  #seen = 0;

  constructor(environment: Environment, name: string, client: MonitorClient, ports: LifePorts) {
    this.#environment = environment;
    this.#name = name;
    this.#client = client;
    this.#ports = ports;
  }

  async readAll(): Promise<void> {
    while (this.#found.size < READ_MAX) {
      const { hosts } = this.#environment.history;
      for (const { fact } of hosts.slice(this.#seen)) {
        const id = fact.kind === 'wrote' ? parseAttemptName(fact.attempt)?.allocation : undefined;
        const job = id === undefined || this.#found.has(id) ? null : this.#jobOf(id);
        if (id === undefined || job === null || this.#found.size >= READ_MAX) continue;
        this.#found.add(id);
        void this.#read(job, id);
      }
      this.#seen = hosts.length;
      await sleep(this.#ports.clock, LOOK_MS);
    }
  }

  #jobOf(allocation: string): JobRef | null {
    const { history, keys } = this.#environment;
    for (const { fact } of history.revisions)
      for (const change of fact.changes) {
        const key = change.kind === 'put' ? change.entry.key : '';
        if (!key.startsWith(keys.allocations) || !key.endsWith(`/${allocation}`)) continue;
        const [namespace = '', job = ''] = key.slice(keys.allocations.length).split('/');
        return { namespace, job };
      }
    return null;
  }

  async #read(job: JobRef, allocation: string): Promise<void> {
    const { history } = this.#environment;
    const of = { reader: this.#name, allocation };
    const goOn = async (): Promise<boolean> => {
      await sleep(this.#ports.clock, AGAIN_MS);
      return true;
    };
    history.output({ ...of, asks: true });
    let at = 0;
    for (let refusals = 0; ; refusals++) {
      const call = {
        allocation,
        stream: 'stdout',
        offset: at,
        follow: true,
        silenceMs: SILENCE_MS,
        goOn,
      } as const;
      try {
        for await (const { offset, chunk } of this.#client.logs(job, call)) {
          history.output({ ...of, offset, text: Buffer.from(chunk).toString('latin1') });
          at = offset + chunk.length;
          refusals = 0;
        }
        return history.output({ ...of, isOver: true });
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error;
        const { code } = error.problem;
        history.output({ ...of, refused: code });
        if (code === 'log-gone') return;
        await sleep(this.#ports.clock, refusals < REFUSALS_PATIENT ? AGAIN_MS : SELDOM_MS);
      }
    }
  }
}
