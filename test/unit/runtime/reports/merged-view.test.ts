import { describe, expect, it } from 'vitest';
import type { HostReport } from '../../../../src/core/host/report.ts';
import { BeatInterval } from '../../../../src/runtime/reports/beat-interval.ts';
import { MergedView } from '../../../../src/runtime/reports/merged-view.ts';
import type { PartFrame } from '../../../../src/wire/api/report-frames.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { reportOf } from '../../../support/reporting-host.ts';

const part = (seq: number, ...ids: string[]): PartFrame => ({
  ...{ kind: 'part', host: 'h', incarnation: 1, seq },
  allocations: ids.map((id) => reportOf('h', id)),
});

/** A view that lets everything go by that is not `mine`. */
function viewOf(mine: Set<string>, lost = new Set<string>()): MergedView {
  const relay = { heardAt: null, complete: true, hostSilenceMs: 3_000 };
  const handlers = {
    keeps: ({ id }: { id: string }) => mine.has(id),
    isLost: (host: string) => lost.has(host),
  };
  return new MergedView(new ManualClock(), new BeatInterval(), handlers, relay);
}

function say(
  view: MergedView,
  seq: number,
  what: { gone: string } | { change: string } | { full: string[] },
): void {
  const head = { host: 'h', incarnation: 1, seq };
  let message: HostReport;
  if ('gone' in what) message = { ...head, kind: 'gone', id: what.gone };
  else if ('change' in what)
    message = { ...head, kind: 'change', allocation: reportOf('h', what.change, { state: 'complete' }) };
  else message = { ...head, kind: 'full', allocations: what.full.map((id) => reportOf('h', id)) };
  view.merge(message, true);
}

const idsIn = (view: MergedView): string[] => [...view.view.on('h')].map(({ id }) => id).sort();

describe('what is learnt of reports that went by', () => {
  it('is what the other view holds of it', () => {
    const mine = new Set(['a']);
    const view = viewOf(mine);
    say(view, 4, { full: ['a', 'b'] });
    mine.add('b');
    view.beginRead();
    expect(view.addPart(part(4, 'b'))).toBe(true);
    expect(idsIn(view)).toEqual(['a', 'b']);
  });

  it('I50 does not bring back what the host forgot meanwhile', () => {
    const mine = new Set(['a', 'b', 'c']);
    const view = viewOf(mine);
    view.beginRead();
    say(view, 5, { gone: 'b' });
    expect(view.addPart(part(4, 'b', 'c'))).toBe(true);
    view.endRead();
    expect(idsIn(view)).toEqual(['c']);
  });

  it('I50 an older answer does not bring back what changed during the read', () => {
    const view = viewOf(new Set(['b']));
    view.beginRead();
    say(view, 5, { change: 'b' });
    expect(view.addPart(part(4, 'b'))).toBe(true);
    expect(view.view.get('h', 'b')?.state).toBe('complete');
  });

  it('I50 an answer from a view that was behind, or from before the full report of the host, is not merged', () => {
    const view = viewOf(new Set(['b']));
    say(view, 4, { full: [] });
    view.beginRead();
    expect(view.addPart(part(3, 'b'))).toBe(false);
    say(view, 6, { full: [] });
    expect(view.addPart(part(5, 'b'))).toBe(false);
    expect(idsIn(view)).toEqual([]);
  });

  it('waits for nothing newer of a host that is lost, and takes nothing older', () => {
    const lost = new Set<string>();
    const view = viewOf(new Set(['b']), lost);
    say(view, 4, { full: [] });
    view.beginRead();
    expect(view.addPart(part(3, 'b'))).toBe(false);
    lost.add('h');
    expect(view.addPart(part(3, 'b'))).toBe(true);
    expect(idsIn(view)).toEqual([]);
  });

  it('does not bring back a host that has left meanwhile', () => {
    const view = viewOf(new Set(['b']));
    say(view, 4, { full: ['b'] });
    view.beginRead();
    view.forget('h');
    expect(view.addPart(part(4, 'b'))).toBe(true);
    expect([...view.view.hosts()]).toEqual([]);
  });

  it('I50 what is not kept is not known from an older report either', () => {
    const mine = new Set(['b']);
    const view = viewOf(mine);
    say(view, 4, { full: ['b'] });
    mine.delete('b');
    say(view, 5, { change: 'b' });
    expect(idsIn(view)).toEqual([]);
    mine.add('b');
    say(view, 6, { full: ['b'] });
    mine.delete('b');
    say(view, 7, { full: ['b'] });
    expect(view.view.size).toBe(0);
  });
});
