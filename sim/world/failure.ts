import { errorText } from '../../src/core/errors/errors.ts';
import type { Violation } from '../checkers/replay/violations.ts';
import type { WorldOptions } from './options.ts';
import { runWorld } from './run-world.ts';

/**
 * How a run failed: an invariant, `threw` with the text of what was thrown, or `too-little` when so little happened that a run without
 * violations proves nothing.
 */
export interface Failure {
  readonly invariant: string;
  readonly text: string;
}

/** What decides whether a run failed. */
export interface Ended {
  readonly violations: readonly Violation[];
  /** What a role or the world itself threw; null: nothing. */
  readonly thrown: string | null;
  /** Why the run proves nothing; empty when it does. */
  readonly tooLittle: readonly string[];
}

/** How the run failed; null when it did not. */
export function failureIn({ violations, thrown, tooLittle }: Ended): Failure | null {
  if (thrown !== null) return { invariant: 'threw', text: thrown };
  const [first] = violations;
  if (first !== undefined) return { invariant: first.invariant, text: first.detail };
  return tooLittle.length === 0 ? null : { invariant: 'too-little', text: tooLittle.join(', ') };
}

/** Runs it. @returns how it fails; null when it does not */
export async function failureOf(options: WorldOptions): Promise<Failure | null> {
  try {
    const { violations, report } = await runWorld(options);
    return failureIn({ violations, thrown: null, tooLittle: report?.tooLittle ?? [] });
  } catch (error) {
    const thrown = errorText(error);
    return failureIn({ violations: [], thrown, tooLittle: [] });
  }
}
