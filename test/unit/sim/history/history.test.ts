import { describe, expect, it } from 'vitest';
import { History } from '../../../../sim/history/history.ts';

describe('a history', () => {
  it('stamps every fact with its place in the run and the true time', () => {
    let nowMs = 10;
    const history = new History(() => nowMs);
    history.add('hosts', { kind: 'boot', host: 'h1', boot: 'b1' });
    nowMs = 25;
    history.revision(2, 'service-1', [{ kind: 'delete', key: 'k' }]);
    history.phase('quiet');
    expect(history.hosts).toEqual([{ seq: 1, atMs: 10, fact: { kind: 'boot', host: 'h1', boot: 'b1' } }]);
    expect(history.revisions[0]).toMatchObject({
      seq: 2,
      atMs: 25,
      fact: { revision: 2, actor: 'service-1' },
    });
    expect(history.phases[0]?.seq).toBe(3);
    expect(history.length).toBe(3);
  });

  it('joins a call with its answer, and leaves one without an answer open', () => {
    let nowMs = 0;
    const history = new History(() => nowMs);
    const call = { kind: 'stop', client: 'client-1', namespace: 'default', job: 'web' } as const;
    const answer = history.called(call);
    history.called({ ...call, job: 'other' });
    nowMs = 7;
    answer({ result: 'ok', job: 'web', version: null });
    expect(history.calls.map((record) => record.answer)).toEqual([
      { seq: 3, atMs: 7, fact: { result: 'ok', job: 'web', version: null } },
      null,
    ]);
  });

  it('keeps the real-time order of store calls that overlap', () => {
    const history = new History(() => 0);
    const first = history.asking();
    const second = history.asking();
    const empty = { revision: 1, entries: new Map() };
    history.read('b', second, ['k'], empty);
    history.attempted(
      'a',
      first,
      { compares: [], writes: [], readBack: [] },
      { outcome: 'applied', revision: 2 },
    );
    expect(history.storeCalls.map(({ actor, from, to }) => [actor, from, to])).toEqual([
      ['b', 2, 3],
      ['a', 1, 4],
    ]);
  });
});
