import type { JSX } from 'preact';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import { clockTime, duration } from '../../src/wire/values/words.ts';
import type { Part, Span, Timeline } from '../figures/timeline.ts';
import { partsOf, timelineOf } from '../figures/timeline.ts';
import { Table } from '../parts/parts.ts';

/** A job's allocations over time: when each was placed, started and ended, and of which version it was. */
export function TimelineView(props: { readonly of: JobStatus; readonly nowMs: number }): JSX.Element {
  const timeline = timelineOf(props.of, props.nowMs);
  const { fromMs, toMs, spans } = timeline;
  return (
    <section aria-labelledby="timeline-title">
      <h2 id="timeline-title">Allocations over time</h2>
      {spans.length === 0 ? null : (
        <p class="hint">
          {`The width is ${duration(toMs - fromMs)}, from ${seconds(fromMs)} to ${seconds(toMs)}. `}
          <span class="swatch waited" /> placed, not started <span class="swatch ran" /> ran{' '}
          <span class="swatch ran other" /> ran, of an odd version
        </p>
      )}
      <Table
        label="Allocations over time"
        empty="Nothing was placed yet."
        rows={spans}
        keyOf={({ id }) => id}
        columns={[
          { head: 'Slot', cell: ({ slot }) => slot },
          { head: 'Version', kind: 'number', cell: ({ version }) => version },
          { head: 'Over time', cell: (span) => <Bar span={span} timeline={timeline} /> },
          { head: 'Host', kind: 'wide', cell: ({ host }) => host },
          { head: 'Placed', kind: 'wide', cell: ({ placedAtMs }) => seconds(placedAtMs) },
          { head: 'Started', kind: 'wide', cell: ({ startedAtMs }) => seconds(startedAtMs) },
          { head: 'Ended', kind: 'wide', cell: ({ endedAtMs }) => seconds(endedAtMs) },
          { head: 'State', cell: ({ state }) => state },
        ]}
      />
    </section>
  );
}

function seconds(ms: number | null): string {
  return ms === null ? '' : clockTime(ms).slice(0, 8);
}

/** For the eye; the other columns say the same. */
function Bar(props: { readonly span: Span; readonly timeline: Timeline }): JSX.Element {
  const { waited, ran } = partsOf(props.span, props.timeline);
  const kind = props.span.version % 2 === 1 ? 'ran other' : 'ran';
  return (
    <span class="span" aria-hidden="true">
      {waited === null ? null : <span class="waited" style={placeOf(waited)} />}
      {ran === null ? null : <span class={kind} style={placeOf(ran)} />}
    </span>
  );
}

function placeOf({ left, width }: Part): { readonly left: string; readonly width: string } {
  return { left: `${(left * 100).toFixed(2)}%`, width: `max(2px, ${(width * 100).toFixed(2)}%)` };
}
