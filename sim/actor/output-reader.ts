import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { parseAttemptName } from '../../src/wire/host-files/attempt-files.ts';
import type { Actor } from './actor.ts';
import type { Environment } from './environment.ts';
import type { ClientPorts } from './monitor-client.ts';
import { monitorClientActor } from './monitor-client.ts';

/** How soon after its first line the output of a task is read. */
const POLL_MS = 300;
const RETRY_MS = 500;
/** A refusal may pass: a monitor that has just started knows nothing yet. After so many in a row the reader asks less often. */
const QUICK_RETRIES = 8;
const SLOW_RETRY_MS = 2_000;
/** Longer silence is a dead connection; short, so that it shows in the quiet time. Asking again for a silent task costs little. */
const SILENCE_MS = 10_000;
/** Of a run; every stream costs some events for each line. */
const READ_MAX = 8;

/** Reads all that tasks write, from its beginning to its end, at one monitor after another. */
export function outputReaderActor(
  environment: Environment,
  name: string,
  monitors: readonly string[],
): Actor {
  return monitorClientActor(environment, name, monitors, (ports) => void new OutputReader(ports).readAll());
}

class OutputReader {
  readonly #ports: ClientPorts;
  readonly #found = new Set<string>();
  #seen = 0;

  constructor(ports: ClientPorts) {
    this.#ports = ports;
  }

  async readAll(): Promise<void> {
    while (this.#found.size < READ_MAX) {
      const { hosts } = this.#ports.environment.history;
      for (const { fact } of hosts.slice(this.#seen)) {
        const id = fact.kind === 'wrote' ? parseAttemptName(fact.attempt)?.allocation : undefined;
        const job = id === undefined || this.#found.has(id) ? null : this.#jobOf(id);
        if (id === undefined || job === null || this.#found.size >= READ_MAX) continue;
        this.#found.add(id);
        void this.#read(job, id);
      }
      this.#seen = hosts.length;
      await sleep(this.#ports.clock, POLL_MS);
    }
  }

  #jobOf(allocation: string): JobRef | null {
    const { history, keys } = this.#ports.environment;
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
    const { history } = this.#ports.environment;
    const of = { reader: this.#ports.name, allocation };
    const resume = async (): Promise<boolean> => {
      await sleep(this.#ports.clock, RETRY_MS);
      return true;
    };
    history.add('outputs', { ...of, asks: true });
    let at = 0;
    for (let refusals = 0; ; refusals++) {
      const call = {
        allocation,
        stream: 'stdout',
        offset: at,
        follow: true,
        silenceMs: SILENCE_MS,
        resume,
      } as const;
      try {
        for await (const { offset, chunk } of this.#ports.client.logs(job, call)) {
          history.add('outputs', { ...of, offset, text: Buffer.from(chunk).toString('latin1') });
          at = offset + chunk.length;
          refusals = 0;
        }
        return history.add('outputs', { ...of, isOver: true });
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error;
        const { code } = error.problem;
        history.add('outputs', { ...of, refused: code });
        if (code === 'log-gone') return;
        await sleep(this.#ports.clock, refusals < QUICK_RETRIES ? RETRY_MS : SLOW_RETRY_MS);
      }
    }
  }
}
