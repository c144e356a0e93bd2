import type { JSX } from 'preact';
import { ProblemError } from '../../src/wire/api/problem.ts';

/** What went wrong, and the remedy that the cell names. */
export function Failed(props: { readonly error: Error | null }): JSX.Element | null {
  const { error } = props;
  if (error === null) return null;
  const hint = error instanceof ProblemError ? error.problem.hint : undefined;
  return (
    <p class="notice bad" role="alert">
      <strong>Error: </strong>
      {error.message}
      {hint === undefined ? null : <span class="hint"> {hint}</span>}
    </p>
  );
}

export function Loading(props: { readonly error: Error | null }): JSX.Element {
  return props.error === null ? <p class="empty">Loading …</p> : <Failed error={props.error} />;
}
