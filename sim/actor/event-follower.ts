import { EventCursor } from '../../src/clients/event-cursor.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { HttpError } from '../../src/ports/http.ts';
import { NdjsonError } from '../../src/core/json/ndjson.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Actor } from './actor.ts';
import type { Environment } from './environment.ts';
import type { ClientPorts } from './monitor-client.ts';
import { monitorClientActor } from './monitor-client.ts';

/** As `moorage events --follow`, which opens a new stream soon after one broke. */
const RETRY_MS = 500;
/** Longer silence is a dead connection: more than the monitors' heartbeat, and short enough to show in the quiet time. */
const IDLE_MS = 20_000;
/** A long poll for an end, as `moorage run` asks; then it asks again. */
const EXIT_WAIT_MS = 10_000;

/** From which event on, and when, a client follows. */
export interface Following {
  readonly since: '0' | 'now';
  readonly afterMs: number;
}

/** Follows the cell's events, at one monitor after another, and waits for the end of each job. */
export function followerActor(
  environment: Environment,
  name: string,
  monitors: readonly string[],
  { since, afterMs }: Following,
): Actor {
  // The last monitor first, since clients that submit begin with the first.
  return monitorClientActor(environment, name, [...monitors].reverse(), async (ports) => {
    if (afterMs > 0) await sleep(ports.clock, afterMs);
    void new EventFollower(ports).follow(since);
  });
}

class EventFollower {
  readonly #ports: ClientPorts;
  readonly #waited = new Set<string>();

  constructor(ports: ClientPorts) {
    this.#ports = ports;
  }

  async follow(since: Following['since']): Promise<void> {
    const { name: client, environment, client: monitors } = this.#ports;
    const { history } = environment;
    const cursor = new EventCursor(since);
    for (let stream = 1; ; stream++) {
      const onBegin = (began: string): void => {
        if (cursor.since === 'now') history.add('events', { client, stream, began });
        cursor.began(began);
      };
      const call = { follow: true, idleTimeoutMs: IDLE_MS, onBegin };
      try {
        for await (const event of monitors.events(cursor.since, call)) {
          history.add('events', { client, stream, event });
          cursor.saw(event);
          const { kind, namespace = '', job = '' } = event;
          if (kind === 'owned') void this.#untilExit({ namespace, job });
        }
      } catch (error) {
        if (!isBroken(error)) throw error;
      }
      await sleep(this.#ports.clock, RETRY_MS);
    }
  }

  /** A service ends as well: when it is stopped. */
  async #untilExit(ref: JobRef): Promise<void> {
    const { name, environment, client } = this.#ports;
    const jobKey = `${ref.namespace}/${ref.job}`;
    if (this.#waited.has(jobKey)) return;
    this.#waited.add(jobKey);
    for (;;) {
      try {
        const exit = await client.exit(ref, EXIT_WAIT_MS);
        if (exit !== null) return environment.history.add('exits', { client: name, ...ref, exit });
      } catch (error) {
        if (!isBroken(error)) throw error;
        await sleep(this.#ports.clock, RETRY_MS);
      }
    }
  }
}

function isBroken(error: unknown): boolean {
  return error instanceof HttpError || error instanceof NdjsonError || error instanceof ProblemError;
}
