import type { JSX } from 'preact';
import { share } from '../figures/figures.ts';

/** How much of it is used, as a bar and in words. */
export function Meter(props: {
  readonly label: string;
  readonly part: number;
  readonly whole: number;
  readonly text: string;
  /** What is full is well, as a task that is done. */
  readonly isProgress?: true;
}): JSX.Element {
  const used = share(props.part, props.whole);
  return (
    <span class="meter">
      <span class="bar" aria-hidden="true">
        <span
          style={{ width: `${(used * 100).toFixed(1)}%` }}
          class={used >= 0.9 && props.isProgress !== true ? 'full' : ''}
        />
      </span>
      <span>
        <span class="unseen">{props.label} </span>
        {props.text}
      </span>
    </span>
  );
}
