import { ndjson } from '../../src/clients/ndjson.ts';
import type { HttpClient, HttpStream } from '../../src/ports/http.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';

export interface CollisionOptions {
  readonly monitors: readonly string[];
  readonly http: HttpClient;
  /** The host that all jobs want. */
  readonly host: string;
  /** In the names of the jobs: a job of an earlier demonstration has ended and would not run again. */
  readonly tag: string;
}

export interface Collision {
  readonly conflict: CellEvent;
  /** The placement that took the capacity; absent when its event arrived too late. */
  readonly winner: CellEvent | undefined;
  readonly story: readonly string[];
}

/** Jobs of one round: enough that both schedulers own some, whatever the names hash to. */
const JOBS_A_ROUND = 8;
const ROUNDS_MAX = 20;
/** More than half of a development host, so that two do not fit. */
const CPU_EACH = '2500m';
const TASK_SECONDS = 0.2;
const ENDS: ReadonlySet<string> = new Set(['complete', 'failed']);
const CALL_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;

/**
 * Makes two schedulers collide. Every round submits jobs that all want the same host, at the same moment; schedulers that
 * decide before they see each other's commit find the ledger changed, and one of them loses.
 * @throws when no round led to a conflict
 */
export async function collide(options: CollisionOptions): Promise<Collision> {
  const listening = new AbortController();
  const events = new EventLog();
  const listened = readInto(events, await openEvents(options, listening.signal));
  try {
    for (let round = 1; round <= ROUNDS_MAX; round++) {
      const names = Array.from(
        { length: JOBS_A_ROUND },
        (_, n) => `collide-${options.tag}-${String(round)}-${String(n + 1)}`,
      );
      await Promise.all(names.map((name, n) => submit(options, name, n)));
      await Promise.race([events.until((seen) => allEnded(seen, names)), listened]);
      const conflict = events.seen.find((event) => event.kind === 'conflict' && event.host === options.host);
      if (conflict !== undefined) return storyOf(conflict, events.seen, round);
    }
  } finally {
    listening.abort();
    await listened.catch(() => undefined);
  }
  throw new Error(
    `the schedulers did not collide in ${String(ROUNDS_MAX)} rounds of ${String(JOBS_A_ROUND)} jobs`,
  );
}

async function submit({ http, monitors, host }: CollisionOptions, name: string, n: number): Promise<void> {
  const answer = await http.call({
    method: 'POST',
    url: `${monitors[n % monitors.length] ?? ''}/v1/jobs`,
    body: {
      name,
      type: 'batch',
      command: ['sleep', String(TASK_SECONDS)],
      resources: { cpu: CPU_EACH, memory: '64Mi' },
      constraints: [`host.id == ${host}`],
    },
    timeoutMs: CALL_TIMEOUT_MS,
  });
  if (answer.status >= 300) throw new Error(`job ${name} was refused: ${JSON.stringify(answer.body)}`);
}

function allEnded(seen: readonly CellEvent[], names: readonly string[]): boolean {
  const ended = new Set(seen.filter(({ kind }) => ENDS.has(kind)).map((event) => event.job));
  return names.every((name) => ended.has(name));
}

function storyOf(conflict: CellEvent, seen: readonly CellEvent[], round: number): Collision {
  const rivals = seen.filter(
    (event) => event.kind === 'placed' && event.host === conflict.host && event.source !== conflict.source,
  );
  const winner = rivals.filter((event) => event.atMs <= conflict.atMs).at(-1) ?? rivals[0];
  const later = seen.find(
    (event) => event.kind === 'placed' && event.job === conflict.job && event.atMs > conflict.atMs,
  );
  const story = [
    `round ${String(round)}: ${String(JOBS_A_ROUND)} jobs of ${CPU_EACH} cpu each, all for ${conflict.host ?? ''}`,
    ...(winner === undefined ? [] : [`won:  ${winner.source} with ${winner.slot ?? winner.job ?? ''}`]),
    `lost: ${conflict.source} with ${conflict.slot ?? conflict.job ?? ''}: ${conflict.detail}`,
    ...(later === undefined
      ? []
      : [
          `then: ${later.source} placed ${later.slot ?? later.job ?? ''} ${String(later.atMs - conflict.atMs)} ms later, when there was room`,
        ]),
  ];
  return { conflict, winner, story };
}

/** All events since the start; `until` waits for a condition on them. */
class EventLog {
  readonly seen: CellEvent[] = [];
  readonly #waiting = new Set<() => void>();

  add(event: CellEvent): void {
    this.seen.push(event);
    for (const check of this.#waiting) check();
  }

  until(holds: (seen: readonly CellEvent[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!holds(this.seen)) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }
}

/** Opens the event stream; resolves when the monitor answers, so that nothing submitted afterwards is missed. */
async function openEvents({ http, monitors }: CollisionOptions, signal: AbortSignal): Promise<HttpStream> {
  return await http.stream({
    method: 'GET',
    url: `${monitors[0] ?? ''}/v1/events?since=now`,
    headers: { accept: 'application/x-ndjson' },
    timeoutMs: CALL_TIMEOUT_MS,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    signal,
  });
}

async function readInto(events: EventLog, stream: HttpStream): Promise<void> {
  for await (const line of ndjson(stream.chunks)) events.add(line as CellEvent);
}
