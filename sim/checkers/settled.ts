import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { RecordedHistory, Stamp } from '../history/history.ts';
import type { Step } from './replay/replay.ts';
import { CellReplay } from './replay/replay.ts';
import type { LivenessTimes } from './liveness/liveness.ts';
import { checkLiveness } from './liveness/liveness.ts';
import { LossChecker } from './losses/losses.ts';
import { RunIndex } from './replay/run-index.ts';
import { hostsAheadOfTime, clockFaultsOf } from './replay/clock-faults.ts';
import { Findings } from './replay/violations.ts';

/** What a run must have to end in its quiet period. */
export interface SettledSetting {
  readonly keys: CellKeys;
  /** How many there are; each must hold its session. */
  readonly hosts: number;
  readonly times: LivenessTimes;
}

/** Would the liveness checkers find nothing if the run ended now? Asked again and again during a run, it reads each revision once. */
export class SettledProbe {
  readonly #history: RecordedHistory;
  readonly #setting: SettledSetting;
  readonly #replay: CellReplay;
  readonly #losses: LossChecker;
  readonly #steps: { readonly step: Step; readonly at: Stamp }[] = [];

  constructor(history: RecordedHistory, setting: SettledSetting) {
    this.#history = history;
    this.#setting = setting;
    this.#replay = new CellReplay(setting.keys);
    this.#losses = new LossChecker(setting.keys);
  }

  /**
   * Would the liveness checkers find nothing at `endMs` if nothing more happened until then? A run in its quiet period of which
   * this is true may end now, and no violation is missed for that.
   */
  isSettledAt(endMs: number): boolean {
    const open = this.openAt(endMs);
    return this.#losses.alive.size >= this.#setting.hosts && open.count === 0;
  }

  /** What the liveness checkers would find if the run ended at `endMs`, with what has happened up to now. */
  openAt(endMs: number): Findings {
    this.#catchUp();
    const run = new RunIndex(this.#history, { seq: Infinity, atMs: endMs });
    for (const { step, at } of this.#steps) run.apply(step, at);
    const open = new Findings();
    const ahead = hostsAheadOfTime(this.#history);
    const { times } = this.#setting;
    const clocksAreTrue = clockFaultsOf(this.#history).size === 0;
    checkLiveness(
      { run, cell: this.#replay.cell, alive: this.#losses.alive, ahead, clocksAreTrue, times },
      open,
    );
    return open;
  }

  /** What the replay finds is found again, and reported, when the whole run is checked. */
  #catchUp(): void {
    const { revisions } = this.#history;
    const ignored = new Findings();
    for (let next = this.#steps.length; next < revisions.length; next++) {
      const at = revisions[next];
      if (at === undefined) return;
      const step = this.#replay.apply(at.fact.revision, at.fact.changes, at.fact.isRestore);
      this.#losses.check(step, this.#replay.cell, at, ignored);
      this.#steps.push({ step, at });
    }
  }
}
