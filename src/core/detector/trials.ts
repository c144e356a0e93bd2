import type { Suspect } from './suspects.ts';
import type { Subject, TrialKind, Unit } from './units.ts';

/** Half of what a failure says is forgotten after this. */
export const HALF_LIFE_MS = 5 * 60_000;
/** That something was fetched says little of the next time: what it comes from may be overloaded by then. */
const PASS_HALF_LIFE_MS: Readonly<Record<TrialKind, number>> = {
  fetch: 60_000,
  start: HALF_LIFE_MS,
  run: HALF_LIFE_MS,
};
/** Less is forgotten. */
const WEIGHT_MIN = 0.25;
/** Subjects that are held: some 60 MB. Of more the one that was heard of longest ago is forgotten. */
export const SUBJECTS_MAX = 200_000;
const REASONS_MAX = 3;
const REASON_CHARS_MAX = 200;

interface Trials {
  readonly subject: Subject;
  failures: number;
  /** Ended well. */
  passes: number;
  /** Is well now. */
  up: number;
  /** To which time the weights above are as they stand. */
  asOfMs: number;
  firstFailedAtMs: number;
  lastFailedAtMs: number;
  lastWellAtMs: number;
  readonly reasons: string[];
}

/**
 * What came of each revision on each host. A crash loop counts as one subject that is bad, however often it goes round: only
 * another host or another revision is independent evidence. What is up counts for as long as it is up, so that a failure which shows
 * days after a change finds what it is to be compared with (S3.28).
 */
export class TrialTable {
  readonly #trials = new Map<string, Trials>();
  readonly #passHalfLifeMs: number;
  readonly #subjectsMax: number;
  /** Grows with each failure. */
  failures = 0;

  constructor(kind: TrialKind, subjectsMax = SUBJECTS_MAX) {
    this.#passHalfLifeMs = PASS_HALF_LIFE_MS[kind];
    this.#subjectsMax = subjectsMax;
  }

  get size(): number {
    return this.#trials.size;
  }

  failed(subject: Subject, atMs: number, reason: string): void {
    const trials = this.#of(subject, atMs);
    // What was forgotten has begun anew.
    if (trials.failures === 0) trials.firstFailedAtMs = atMs;
    trials.failures += 1;
    trials.lastFailedAtMs = Math.max(trials.lastFailedAtMs, atMs);
    this.failures += 1;
    const short = reason.slice(0, REASON_CHARS_MAX);
    if (short !== '' && trials.reasons.length < REASONS_MAX && !trials.reasons.includes(short))
      trials.reasons.push(short);
  }

  passed(subject: Subject, atMs: number): void {
    const trials = this.#of(subject, atMs);
    trials.passes += 1;
    trials.lastWellAtMs = atMs;
  }

  /** @param change 1: one more of it is up, and has been long enough to count; −1: one less */
  up(subject: Subject, atMs: number, change: 1 | -1): void {
    const trials = this.#of(subject, atMs);
    trials.up = Math.max(0, trials.up + change);
    trials.lastWellAtMs = atMs;
  }

  /** The failures of what has to do with the suspect say nothing any more: their cause is known to be gone. */
  forgive(suspect: Suspect): void {
    for (const trials of this.#trials.values()) {
      if (!trials.subject.suspects.includes(suspect)) continue;
      trials.failures = 0;
      trials.reasons.length = 0;
    }
  }

  /** What each subject came to; forgets those of which nothing is left. */
  units(nowMs: number): readonly Unit[] {
    const units: Unit[] = [];
    for (const [key, trials] of this.#trials) {
      this.#decay(trials, nowMs);
      const { subject, failures, passes, up, reasons } = trials;
      if (failures + passes + up === 0) {
        this.#trials.delete(key);
        continue;
      }
      units.push({
        ...{ job: subject.job, revision: subject.revision, host: subject.host, suspects: subject.suspects },
        // One failure more than what is well: a task that came up at its second start is well.
        isBad: failures > passes + up,
        ...{ firstFailedAtMs: trials.firstFailedAtMs, lastFailedAtMs: trials.lastFailedAtMs },
        ...{ lastWellAtMs: up > 0 ? nowMs : trials.lastWellAtMs, reasons },
      });
    }
    return units;
  }

  #of(subject: Subject, atMs: number): Trials {
    const key = `${subject.revision} ${subject.host}`;
    let trials = this.#trials.get(key);
    if (trials === undefined)
      trials = {
        ...{ subject, failures: 0, passes: 0, up: 0, asOfMs: atMs },
        ...{ firstFailedAtMs: 0, lastFailedAtMs: 0, lastWellAtMs: 0, reasons: [] },
      };
    // The oldest comes first.
    this.#trials.delete(key);
    this.#trials.set(key, trials);
    if (this.#trials.size > this.#subjectsMax)
      for (const oldest of this.#trials.keys()) {
        this.#trials.delete(oldest);
        break;
      }
    this.#decay(trials, atMs);
    return trials;
  }

  #decay(trials: Trials, nowMs: number): void {
    const elapsedMs = nowMs - trials.asOfMs;
    if (elapsedMs <= 0) return;
    trials.asOfMs = nowMs;
    trials.failures *= 2 ** (-elapsedMs / HALF_LIFE_MS);
    trials.passes *= 2 ** (-elapsedMs / this.#passHalfLifeMs);
    if (trials.passes < WEIGHT_MIN) trials.passes = 0;
    if (trials.failures >= WEIGHT_MIN) return;
    trials.failures = 0;
    trials.reasons.length = 0;
  }
}
