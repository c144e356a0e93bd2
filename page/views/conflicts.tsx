import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { clockTime } from '../../src/wire/values/words.ts';
import type { ConflictStory } from '../figures/conflict-steps.ts';
import { conflictStories, revisionOf } from '../figures/conflict-steps.ts';
import { useCell, useWatched } from '../parts/hooks.ts';
import { aboutOf } from './events.tsx';

const STORIES_MAX = 20;

/** Schedulers that wanted the same place at the same time: who came first, who lost, and what came of the loser. */
export function Conflicts(): JSX.Element {
  const { feed } = useCell();
  const events = useWatched(feed.events);
  const stories = useMemo(() => conflictStories(events, STORIES_MAX), [events]);
  return (
    <>
      <p>
        Schedulers decide on their own copies of the cell and commit without asking each other. Of two that
        want the same room on a host, the store takes the first commit. The other one still fits (it is
        rebased), or does not (a conflict): then it is decided again.
      </p>
      {stories.length === 0 ? <p class="empty">No conflict among the events that are held.</p> : null}
      {stories.map((story) => (
        <Story key={`${story.conflict.id} ${String(story.conflict.atMs)}`} story={story} />
      ))}
    </>
  );
}

function Story(props: { readonly story: ConflictStory }): JSX.Element {
  const { conflict, winners, afterwards } = props.story;
  return (
    <section class="story">
      <h2>{`${conflict.kind === 'conflict' ? '✗ Conflict' : '↻ Rebase'}: ${aboutOf(conflict)}`}</h2>
      <ol>
        {winners.map((event) => (
          <Step key={event.id} event={event} says={`came first with ${event.slot ?? event.job ?? ''}`} />
        ))}
        <Step event={conflict} says={secondOf(props.story)} />
        {afterwards.map((event) => (
          <Step key={event.id} event={event} says="afterwards" />
        ))}
      </ol>
    </section>
  );
}

/** A claim is refused before it is sent when its scheduler hears in time that the host has changed: then no revision is compared. */
function secondOf({ conflict }: ConflictStory): string {
  const { host = 'the host', readRevision, foundRevision } = conflict;
  const read =
    readRevision === undefined || foundRevision === undefined
      ? `hears of it before its own commit is sent`
      : `had read ${host} at revision ${String(readRevision)}, finds it changed at ${String(foundRevision)}`;
  return `${read}, comes second, and ${conflict.kind === 'conflict' ? 'does not fit' : 'still fits'}`;
}

function Step(props: { readonly event: CellEvent; readonly says: string }): JSX.Element {
  const { event, says } = props;
  const revision = revisionOf(event);
  return (
    <li>
      <span class="time">{clockTime(event.atMs)}</span> <strong>{event.source}</strong>
      {` ${says}: ${event.kind}, ${event.detail}`}
      {revision === null ? '' : ` (revision ${revision})`}
    </li>
  );
}
