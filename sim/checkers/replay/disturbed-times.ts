import type { RecordedHistory } from '../../history/history.ts';

interface Disturbance {
  readonly targets: readonly string[];
  readonly fromMs: number;
  untilMs: number;
}

/** When there were faults, of the plan or by chance, and roles that failed by themselves. */
export class DisturbedTimes {
  readonly #all: Disturbance[] = [];

  constructor(history: RecordedHistory) {
    const open = new Map<number, Disturbance>();
    for (const { atMs, fact } of history.nemesis) {
      if (fact.phase === 'begin') {
        const one = { targets: fact.targets, fromMs: atMs, untilMs: Infinity };
        this.#all.push(one);
        open.set(fact.fault, one);
      } else {
        const one = open.get(fact.fault);
        if (one !== undefined) one.untilMs = atMs;
        open.delete(fact.fault);
      }
    }
    for (const { atMs, fact } of history.actors)
      if (fact.change === 'failed') this.#all.push({ targets: [fact.actor], fromMs: atMs, untilMs: atMs });
  }

  /** Was there one of this target, alone or with others? */
  of(target: string, fromMs: number, toMs: number): boolean {
    return this.#all.some(
      (one) => one.targets.includes(target) && one.fromMs <= toMs && one.untilMs >= fromMs,
    );
  }

  /** Was there one in this time, both ends included? @param except faults of this target alone do not count */
  between(fromMs: number, toMs: number, except: string | null = null): boolean {
    return this.#all.some(
      ({ targets, fromMs: begin, untilMs }) =>
        begin <= toMs && untilMs >= fromMs && !(targets.length === 1 && targets[0] === except),
    );
  }
}
