/**
 * The failure detector on model cells with a planted truth, thousands of them: who is found, how surely and how soon.
 *
 * - `model.ts`: a cell without roles: hosts, and tasks that fail by given chances
 * - `cases.ts`: what is wrong in it, drawn from a seed
 *
 * This file counts what many seeds of a case come to.
 */
import type { Case, CaseResult } from './cases.ts';
import { runCase } from './cases.ts';

export interface CaseFigures {
  readonly name: Case;
  readonly seeds: number;
  /** Of those that were found, so many are at fault; 1 when nobody was found. */
  readonly precision: number;
  /** Of those at fault, so many were found; null: nobody is. */
  readonly recall: number | null;
  readonly medianMs: number | null;
  /** Hosts of a domain at fault that were found before it. */
  readonly partly: number;
  /** Seeds in which somebody innocent was found, or who is at fault was not. */
  readonly wrong: readonly CaseResult[];
}

export function figuresOf(name: Case, first: number, seeds: number): CaseFigures {
  const results = Array.from({ length: seeds }, (_, n) => runCase(name, first + n));
  const hits = results.filter(({ afterMs }) => afterMs !== null);
  const found = results.reduce((sum, result) => sum + result.found.length, 0);
  const guilty = results.filter(({ truth }) => truth !== null).length;
  const times = hits.map(({ afterMs }) => afterMs ?? 0).sort((a, b) => a - b);
  return {
    ...{ name, seeds },
    precision: found === 0 ? 1 : hits.length / found,
    recall: guilty === 0 ? null : hits.length / guilty,
    medianMs: times[Math.floor(times.length / 2)] ?? null,
    partly: results.reduce((sum, result) => sum + result.partly.length, 0),
    wrong: results.filter(isWrong),
  };
}

function isWrong({ truth, found, afterMs }: CaseResult): boolean {
  return found.some((suspect) => suspect !== truth) || (truth !== null && afterMs === null);
}
