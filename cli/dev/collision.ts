import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';

export interface CollisionOptions {
  /** A client of each monitor; they take turns. */
  readonly monitors: readonly MonitorClient[];
  /** The host that all jobs want. */
  readonly host: string;
  /** In the names of the jobs: a job of an earlier demonstration has ended and would not run again. */
  readonly tag: string;
}

/** Jobs of one round: enough that both schedulers own some, whatever the names hash to. */
const JOBS_A_ROUND = 8;
const ROUNDS_MAX = 20;
/** More than half of a development host, so that two do not fit. */
const CPU_EACH = '2500m';
const TASK_SECONDS = 0.05;
const ENDS: ReadonlySet<string> = new Set(['complete', 'failed']);

/**
 * Makes two schedulers collide. Every round submits jobs that all want the same host, at the same moment; schedulers that
 * decide before they see each other's commit find the ledger changed, and one of them loses.
 * @returns what happened, line by line
 * @throws when no round led to a conflict
 */
export async function collide(options: CollisionOptions): Promise<readonly string[]> {
  const listening = new AbortController();
  const events = new EventLog();
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const listened = readInto(events, options, { signal: listening.signal, onBegin: begin });
  // Only then nothing is missed of what is submitted below.
  await Promise.race([begun, listened]);
  try {
    for (let round = 1; round <= ROUNDS_MAX; round++) {
      const names = Array.from(
        { length: JOBS_A_ROUND },
        (_, n) => `collide-${options.tag}-${String(round)}-${String(n + 1)}`,
      );
      await Promise.all(names.map((name, n) => submit(options, name, n)));
      const isOver = (seen: readonly CellEvent[]): boolean =>
        allEnded(seen, names) || isWhole(conflictIn(seen, options.host), seen);
      await Promise.race([events.until(isOver), listened]);
      const conflict = conflictIn(events.seen, options.host);
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

async function submit({ monitors, host }: CollisionOptions, name: string, n: number): Promise<void> {
  await monitors[n % monitors.length]?.submit({
    name,
    type: 'batch',
    command: ['sleep', String(TASK_SECONDS)],
    resources: { cpu: CPU_EACH, memory: '64Mi' },
    constraints: [`host.id == ${host}`],
  });
}

function allEnded(seen: readonly CellEvent[], names: readonly string[]): boolean {
  const ended = new Set(seen.filter(({ kind }) => ENDS.has(kind)).map((event) => event.job));
  return names.every((name) => ended.has(name));
}

function conflictIn(seen: readonly CellEvent[], host: string): CellEvent | undefined {
  return seen.find((event) => event.kind === 'conflict' && event.host === host);
}

/** The one that lost has found its place too: what follows adds nothing to the story. */
function isWhole(conflict: CellEvent | undefined, seen: readonly CellEvent[]): boolean {
  return (
    conflict !== undefined && winnerOf(conflict, seen) !== undefined && laterOf(conflict, seen) !== undefined
  );
}

function winnerOf(conflict: CellEvent, seen: readonly CellEvent[]): CellEvent | undefined {
  const rivals = seen.filter(
    (event) => event.kind === 'placed' && event.host === conflict.host && event.source !== conflict.source,
  );
  return rivals.filter((event) => event.atMs <= conflict.atMs).at(-1) ?? rivals[0];
}

/** The loser's placement, when there was room. */
function laterOf(conflict: CellEvent, seen: readonly CellEvent[]): CellEvent | undefined {
  return seen.find(
    (event) => event.kind === 'placed' && event.job === conflict.job && event.atMs > conflict.atMs,
  );
}

function storyOf(conflict: CellEvent, seen: readonly CellEvent[], round: number): string[] {
  const winner = winnerOf(conflict, seen);
  const later = laterOf(conflict, seen);
  return [
    `round ${String(round)}: ${String(JOBS_A_ROUND)} jobs of ${CPU_EACH} cpu each, all for ${conflict.host ?? ''}`,
    ...(winner === undefined ? [] : [`won:  ${winner.source} with ${winner.slot ?? winner.job ?? ''}`]),
    `lost: ${conflict.source} with ${conflict.slot ?? conflict.job ?? ''}: ${conflict.detail}`,
    ...(later === undefined
      ? []
      : [
          `then: ${later.source} placed ${later.slot ?? later.job ?? ''} ${String(later.atMs - conflict.atMs)} ms later, when there was room`,
        ]),
  ];
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

async function readInto(
  log: EventLog,
  { monitors }: CollisionOptions,
  call: { readonly signal: AbortSignal; readonly onBegin: () => void },
): Promise<void> {
  for await (const event of monitors[0]?.events('now', { ...call, follow: true }) ?? []) log.add(event);
}
