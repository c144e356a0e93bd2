/**
 * Who is at fault when much fails at once: a revision, a host, or what many of them share.
 *
 * - `suspects.ts`: what may be to blame, and its names
 * - `units.ts`: what is observed; `trials.ts`: what came of each revision on each host
 * - `attribution.ts`: who is at fault for what is bad, with what speaks for and against it, by `exact-test.ts` too
 * - `verdict.ts`: a finding as it is recorded
 * - `remedies.ts`: what is done about a verdict, by the cell's policy
 *
 * This file takes what happened, and finds who is at fault now.
 */
import type { Census, Finding } from './attribution.ts';
import { attribute } from './attribution.ts';
import type { Suspect } from './suspects.ts';
import { TrialTable } from './trials.ts';
import type { Subject, TrialKind } from './units.ts';
import { TRIAL_KINDS } from './units.ts';

/** Collects outcomes and finds who is at fault. Its memory is bounded; time is an argument. */
export class Detector {
  readonly #tables: Readonly<Record<TrialKind, TrialTable>>;

  constructor(subjectsMax?: number) {
    this.#tables = {
      fetch: new TrialTable('fetch', subjectsMax),
      start: new TrialTable('start', subjectsMax),
      run: new TrialTable('run', subjectsMax),
    };
  }

  /** Grows with each failure: without another one there is nobody new at fault. */
  get failures(): number {
    return TRIAL_KINDS.reduce((sum, kind) => sum + this.#tables[kind].failures, 0);
  }

  failed(kind: TrialKind, subject: Subject, atMs: number, reason: string): void {
    this.#tables[kind].failed(subject, atMs, reason);
  }

  passed(kind: TrialKind, subject: Subject, atMs: number): void {
    this.#tables[kind].passed(subject, atMs);
  }

  /** @param change 1: one more of it is up; −1: one less */
  up(subject: Subject, atMs: number, change: 1 | -1): void {
    this.#tables.run.up(subject, atMs, change);
  }

  /** What failed of the suspect failed for a cause that is gone. */
  forgive(suspect: Suspect): void {
    for (const kind of TRIAL_KINDS) this.#tables[kind].forgive(suspect);
  }

  /** Who is at fault now, the surest first. */
  judge(nowMs: number, census: Census): readonly Finding[] {
    const found = new Map<Suspect, Finding>();
    for (const kind of TRIAL_KINDS)
      for (const finding of attribute(this.#tables[kind].units(nowMs), census, kind)) {
        const known = found.get(finding.suspect);
        if (known === undefined || known.logOdds < finding.logOdds) found.set(finding.suspect, finding);
      }
    return [...found.values()].sort((a, b) => b.logOdds - a.logOdds);
  }

  /** What is known of the suspect's units: how many are bad now, and how many well. */
  standing(suspect: Suspect, nowMs: number): { readonly bad: number; readonly well: number } {
    let [bad, well] = [0, 0];
    for (const kind of TRIAL_KINDS)
      for (const { suspects, isBad } of this.#tables[kind].units(nowMs))
        if (!suspects.includes(suspect)) continue;
        else if (isBad) bad += 1;
        else well += 1;
    return { bad, well };
  }
}
