import { expect, it } from 'vitest';
import { conflictStories, revisionOf } from '../../../../page/figures/conflict-steps.ts';
import type { CellEvent } from '../../../../src/wire/api/monitor-api.ts';

const event = (
  id: string,
  atMs: number,
  kind: string,
  source: string,
  more: Partial<CellEvent>,
): CellEvent => ({
  ...{ id, atMs, kind, source, detail: '' },
  ...more,
});

const winner = event('7.1', 1_000, 'placed', 'batch-1', { namespace: 'n', job: 'a', host: 'h1' });
const conflict = event('batch-2:9', 1_010, 'conflict', 'batch-2', { namespace: 'n', job: 'b', host: 'h1' });
const again = event('9.1', 1_200, 'placed', 'batch-2', { namespace: 'n', job: 'b', host: 'h2' });
const noise = [
  event('6.1', 900, 'placed', 'batch-1', { namespace: 'n', job: 'a', host: 'h2' }),
  event('6.2', 950, 'placed', 'batch-2', { namespace: 'n', job: 'b', host: 'h1' }),
  event('8.1', 1_100, 'placed', 'batch-1', { namespace: 'n', job: 'c', host: 'h1' }),
];

it('28 a conflict is told with who came first on that host, and what came of the loser', () => {
  const events = [...noise.slice(0, 2), winner, conflict, ...noise.slice(2), again];
  expect(conflictStories(events, 10)).toEqual([{ conflict, winners: [winner], afterwards: [again] }]);
});

it('28 who came first is the commit that the loser found, where its revision is known', () => {
  const lost = { ...conflict, readRevision: 5, foundRevision: 7 };
  const later = event('7.2', 990, 'released', 'batch-1', { namespace: 'n', job: 'z', host: 'h1' });
  const stories = conflictStories([...noise, winner, later, lost], 10);
  expect(stories.map(({ winners }) => winners)).toEqual([[winner, later]]);
});

it('28 a commit that freed room meanwhile does not hide the one that had taken it', () => {
  const lost = { ...conflict, readRevision: 5, foundRevision: 9 };
  const freed = ['8.1', '9.1', '9.2', '9.3'].map((id) =>
    event(id, 1_005, 'released', 'monitor-1', { namespace: 'n', job: 'z', host: 'h1' }),
  );
  const winnersOf = (events: readonly CellEvent[]) => conflictStories(events, 10)[0]?.winners;
  expect(winnersOf([winner, ...freed.slice(0, 1), lost])).toEqual([winner, freed[0]]);
  expect(winnersOf([winner, ...freed, lost])).toEqual([winner]);
});

it('28 the winner may be told a moment after its loser, and one that was there before comes first', () => {
  const told = { ...winner, atMs: conflict.atMs + 5 };
  expect(conflictStories([conflict, told, again], 10)[0]?.winners).toEqual([told]);
  expect(conflictStories([winner, conflict, { ...told, id: '7.9' }], 10)[0]?.winners).toEqual([winner]);
  expect(conflictStories([conflict, { ...told, atMs: conflict.atMs + 5_000 }], 10)[0]?.winners).toEqual([]);
});

it('28 the newest conflicts come first, and no more than asked for', () => {
  const many = Array.from({ length: 5 }, (_, n) => ({ ...conflict, id: `s:${String(n)}`, atMs: n }));
  expect(conflictStories(many, 2).map((story) => story.conflict.id)).toEqual(['s:4', 's:3']);
});

it('28 names the revision of a change of the store, and none for what a role tells', () => {
  expect(revisionOf(winner)).toBe('7');
  expect(revisionOf(conflict)).toBeNull();
});
