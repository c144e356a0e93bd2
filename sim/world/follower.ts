import { EventCursor } from '../../src/clients/event-cursor.ts';
import type { JobRef } from '../../src/clients/monitor-client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { HttpError } from '../../src/ports/http.ts';
import { NdjsonError } from '../../src/runtime/ndjson.ts';
import { sleep } from '../../src/runtime/sleep.ts';
import { ProblemError } from '../../src/wire/problem.ts';
import { SimNetwork } from '../network/network.ts';
import type { LifePorts } from './actor.ts';
import { Actor } from './actor.ts';
import type { Ground } from './ground.ts';

/** As `moorage events --follow`, which begins anew soon after a stream broke. */
const AGAIN_MS = 500;
/** A long poll for an end, as `moorage run` asks; then it asks again. */
const EXIT_WAIT_MS = 10_000;

/** Somebody who follows the cell's events from the beginning, at one monitor after another, and waits for the end of each list. */
export function followerActor(ground: Ground, name: string, monitors: readonly string[]): Actor {
  return new Actor(ground, {
    name,
    role: 'client',
    boot: (ports) => {
      const http = ground.network.client({ life: ports.life, clock: ports.clock, log: ports.log });
      // The last one first, since whoever asks for work begins with the first.
      const urls = monitors.map((monitor) => SimNetwork.addressOf(monitor)).reverse();
      const client = new MonitorClient(http, { urls, from: name });
      void new EventFollower(ground, name, client, ports).follow();
      return Promise.resolve();
    },
  });
}

class EventFollower {
  readonly #ground: Ground;
  readonly #name: string;
  readonly #client: MonitorClient;
  readonly #ports: LifePorts;
  readonly #waited = new Set<string>();

  constructor(ground: Ground, name: string, client: MonitorClient, ports: LifePorts) {
    this.#ground = ground;
    this.#name = name;
    this.#client = client;
    this.#ports = ports;
  }

  async follow(): Promise<void> {
    const { history } = this.#ground;
    const cursor = new EventCursor('0');
    for (let stream = 1; ; stream++) {
      try {
        for await (const event of this.#client.events(cursor.since, { follow: true })) {
          history.event({ client: this.#name, stream, event });
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
        if (exit !== null) return this.#ground.history.exit({ client: this.#name, ...ref, exit });
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
