import type { JSX } from 'preact';
import { linePoints } from '../figures/series.ts';

const WIDTH = 150;
const HEIGHT = 26;

/** A figure over time: the line is for the eye, the text says where it stands. */
export function Line(props: {
  readonly label: string;
  readonly values: readonly number[];
  /** What the upper edge means; a higher value moves it up. */
  readonly top: number;
  readonly text: string;
}): JSX.Element {
  const { label, values, text } = props;
  const top = values.reduce((most, value) => Math.max(most, value), props.top);
  return (
    <span class="line">
      <svg
        viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
        width={WIDTH}
        height={HEIGHT}
        aria-hidden="true"
        preserveAspectRatio="none"
      >
        <polyline points={linePoints(values, { width: WIDTH, height: HEIGHT, top })} />
      </svg>
      <span>
        <span class="unseen">{label} </span>
        {text}
      </span>
    </span>
  );
}
