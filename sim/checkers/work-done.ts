import type { RecordedHistory } from '../history/history.ts';
import type { RunIndex } from './replay/run-index.ts';

/** What a run did. Where too little happened, a run without violations proves nothing. */
export interface WorkDone {
  /** Submissions, stops and one-off runs that the cell acknowledged. */
  readonly acknowledged: number;
  readonly committed: number;
  readonly started: number;
  /** Allocations that left the store with an outcome. */
  readonly ended: number;
  /** Of the plan. */
  readonly faults: number;
  /** Views compared with the hosts after the quiet period. */
  readonly finalViews: number;
  /** Events that a follower read. */
  readonly events: number;
  /** Tasks that wrote something, and whose output a client read to its end. */
  readonly outputs: number;
}

/** The least of each that a scenario must see; what is absent may be none. */
export type WorkLeast = Partial<WorkDone>;

export function workDoneIn(history: RecordedHistory, run: RunIndex): WorkDone {
  const quiet = run.quietFrom?.seq ?? Infinity;
  let ended = 0;
  for (const story of run.allocations.values()) if (story.outcome !== null) ended += 1;
  return {
    acknowledged: history.calls.filter(({ answer }) => answer?.fact.result === 'ok').length,
    committed: run.allocations.size,
    started: run.processes.length,
    ended,
    faults: history.nemesis.filter(({ fact }) => fact.phase === 'begin' && fact.byChance !== true).length,
    finalViews: history.views.filter(({ seq }) => seq > quiet).length,
    events: history.events.filter(({ fact }) => 'event' in fact).length,
    outputs: outputsReadIn(history),
  };
}

function outputsReadIn({ outputs }: RecordedHistory): number {
  const begun = new Set<string>();
  let whole = 0;
  for (const { fact } of outputs) {
    const name = `${fact.reader} ${fact.allocation}`;
    if ('text' in fact) begun.add(name);
    else if ('isOver' in fact && begun.has(name)) whole += 1;
  }
  return whole;
}

/** @returns in words, what there was too little of; empty when there was enough */
export function tooLittle(done: WorkDone, least: WorkLeast): readonly string[] {
  const short: string[] = [];
  for (const [name, wanted] of Object.entries(least) as [keyof WorkDone, number | undefined][]) {
    if (wanted !== undefined && done[name] < wanted)
      short.push(`${name}: ${String(done[name])} of at least ${String(wanted)}`);
  }
  return short;
}
