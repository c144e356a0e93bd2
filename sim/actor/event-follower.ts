import { EventCursor } from '../../src/clients/event-cursor.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { HttpError } from '../../src/ports/http.ts';
import { NdjsonError } from '../../src/runtime/stream/ndjson.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { SimNetwork } from '../network/network.ts';
import type { LifePorts } from './actor.ts';
import { Actor } from './actor.ts';
import type { Environment } from './environment.ts';

/** As `moorage events --follow`, which begins anew soon after a stream broke. */
const AGAIN_MS = 500;
/** Longer silence is a dead connection: more than the monitors' beat, and soon enough to be seen in the quiet time. */
const IDLE_MS = 20_000;
/** A long poll for an end, as `moorage run` asks; then it asks again. */
const EXIT_WAIT_MS = 10_000;

/** From which event on somebody follows, and when. */
export interface Following {
  readonly since: '0' | 'now';
  readonly afterMs: number;
}

/** Somebody who follows the cell's events, at one monitor after another, and waits for the end of each list. */
export function followerActor(
  environment: Environment,
  name: string,
  monitors: readonly string[],
  { since, afterMs }: Following,
): Actor {
  return new Actor(environment, {
    name,
    role: 'client',
    boot: async (ports) => {
      const http = environment.network.client({ life: ports.life, clock: ports.clock, log: ports.log });
      // The last one first, since whoever asks for work begins with the first.
      const urls = monitors.map((monitor) => SimNetwork.addressOf(monitor)).reverse();
      const client = new MonitorClient(http, { urls, from: name });
      if (afterMs > 0) await sleep(ports.clock, afterMs);
      void new EventFollower(environment, name, client, ports).follow(since);
    },
  });
}

class EventFollower {
  readonly #environment: Environment;
  readonly #name: string;
  readonly #client: MonitorClient;
  readonly #ports: LifePorts;
  readonly #waited = new Set<string>();

  constructor(environment: Environment, name: string, client: MonitorClient, ports: LifePorts) {
    this.#environment = environment;
    this.#name = name;
    this.#client = client;
    this.#ports = ports;
  }

  async follow(since: Following['since']): Promise<void> {
    const { history } = this.#environment;
    const client = this.#name;
    const cursor = new EventCursor(since);
    for (let stream = 1; ; stream++) {
      const onBegin = (began: string): void => {
        if (cursor.since === 'now') history.event({ client, stream, began });
        cursor.began(began);
      };
      const call = { follow: true, idleTimeoutMs: IDLE_MS, onBegin };
      try {
        for await (const event of this.#client.events(cursor.since, call)) {
          history.event({ client, stream, event });
          cursor.saw(event);
          const { kind, namespace = '', job = '' } = event;
          if (kind === 'owned') void this.#untilExit({ namespace, job });
        }
      } catch (error) {
        if (!isBroken(error)) throw error;
      }
      await sleep(this.#ports.clock, AGAIN_MS);
    }
  }

  /** Of a service there is an end as well: when it is stopped. */
  async #untilExit(ref: JobRef): Promise<void> {
    const jobKey = `${ref.namespace}/${ref.job}`;
    if (this.#waited.has(jobKey)) return;
    this.#waited.add(jobKey);
    for (;;) {
      try {
        const exit = await this.#client.exit(ref, EXIT_WAIT_MS);
        if (exit !== null) return this.#environment.history.exit({ client: this.#name, ...ref, exit });
      } catch (error) {
        if (!isBroken(error)) throw error;
        await sleep(this.#ports.clock, AGAIN_MS);
      }
    }
  }
}

function isBroken(error: unknown): boolean {
  return error instanceof HttpError || error instanceof NdjsonError || error instanceof ProblemError;
}
