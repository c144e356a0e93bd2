import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HostView, isAfter, NO_MARK } from '../../../../src/core/host/merge.ts';
import type { AllocationReport, HostReport } from '../../../../src/core/host/report.ts';
import { reportOf } from '../../../support/reporting-host.ts';

const SILENT = { onSet: () => undefined, onGone: () => undefined };

/** What a host could have said: a history in order, with `full`s in between, over several starts of its agent. */
const history = fc
  .array(
    fc.record({
      what: fc.constantFrom('change', 'change', 'change', 'gone', 'full', 'beat', 'restart'),
      id: fc.constantFrom('a', 'b', 'c', 'd'),
      restarts: fc.nat(9),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    const held = new Map<string, AllocationReport>();
    const said: HostReport[] = [];
    let incarnation = 1;
    let seq = 0;
    const full = (): HostReport => ({
      host: 'h',
      incarnation,
      seq,
      kind: 'full',
      allocations: [...held.values()],
    });
    said.push(full());
    for (const { what, id, restarts } of steps) {
      switch (what) {
        case 'change':
          held.set(id, reportOf('h', id, { restarts }));
          seq += 1;
          said.push({
            host: 'h',
            incarnation,
            seq,
            kind: 'change',
            allocation: reportOf('h', id, { restarts }),
          });
          break;
        case 'gone':
          if (!held.delete(id)) break;
          seq += 1;
          said.push({ host: 'h', incarnation, seq, kind: 'gone', id });
          break;
        case 'full':
          said.push(full());
          break;
        case 'beat':
          said.push({ host: 'h', incarnation, seq, kind: 'beat' });
          break;
        case 'restart':
          incarnation += 1;
          seq = 0;
          // A reboot: a new start may have lost what ran.
          held.delete(id);
          said.push(full());
      }
    }
    return { said, last: full(), held };
  });

function merged(messages: readonly HostReport[]): HostView {
  const view = new HostView('h');
  for (const message of messages) view.apply(message, SILENT);
  return view;
}

function contentOf(view: HostView) {
  const reports = [...view.reports()].sort((a, b) => a.id.localeCompare(b.id));
  return { reports, mark: view.mark };
}

const shuffled = history.chain(({ said, last, held }) =>
  fc
    .tuple(
      fc.shuffledSubarray(said, { minLength: said.length }),
      fc.array(fc.constantFrom(...said)),
      fc.subarray(said),
      fc.nat(said.length),
    )
    .map(([order, repeats, some, cut]) => ({ said, last, held, order, repeats, some, cut })),
);

describe('HostView', () => {
  it('S3.44 I49 merge is commutative and idempotent: any order, with repeats, gives the same view', () => {
    fc.assert(
      fc.property(shuffled, ({ said, order, repeats }) => {
        expect(contentOf(merged([...order, ...repeats]))).toEqual(contentOf(merged(said)));
      }),
    );
  });

  it('I49 merge is associative: a view handed on as messages merges like the messages it is made of', () => {
    fc.assert(
      fc.property(shuffled, ({ said, order, cut }) => {
        const left = merged(order.slice(0, cut));
        const right = merged(order.slice(cut));
        const joined = merged([...right.messages(), ...left.messages()]);
        expect(contentOf(joined)).toEqual(contentOf(merged(said)));
      }),
    );
  });

  it('I49 losses are repaired by the final full report', () => {
    fc.assert(
      fc.property(shuffled, ({ some, last, held }) => {
        const view = merged([...some, last]);
        expect(new Map([...view.reports()].map((report) => [report.id, report]))).toEqual(held);
      }),
    );
  });

  it('I50 the mark of a host and of each allocation never goes back', () => {
    fc.assert(
      fc.property(shuffled, ({ order }) => {
        const view = new HostView('h');
        let mark = NO_MARK;
        for (const message of order) {
          view.apply(message, SILENT);
          expect(isAfter(mark, view.mark)).toBe(false);
          mark = view.mark;
        }
      }),
    );
  });

  it('keeps what it knows of a host when a newer start has not yet said all it has', () => {
    const view = merged([
      { host: 'h', incarnation: 1, seq: 3, kind: 'full', allocations: [reportOf('h', 'a')] },
      { host: 'h', incarnation: 2, seq: 1, kind: 'change', allocation: reportOf('h', 'b') },
    ]);
    expect([...view.reports()].map((report) => report.id)).toEqual(['a', 'b']);
  });

  it('tells of changes only, not of what a full report repeats', () => {
    const told: string[] = [];
    const sink = {
      onSet: (report: AllocationReport) => told.push(`+${report.id}`),
      onGone: (report: AllocationReport) => told.push(`-${report.id}`),
    };
    const view = new HostView('h');
    const [a, b] = [reportOf('h', 'a'), reportOf('h', 'b')];
    view.apply({ host: 'h', incarnation: 1, seq: 1, kind: 'full', allocations: [a, b] }, sink);
    view.apply({ host: 'h', incarnation: 1, seq: 2, kind: 'full', allocations: [a] }, sink);
    expect(told).toEqual(['+a', '+b', '-b']);
  });

  it('I49 two relays, each in order but at its own pace, settle no more than each has brought', () => {
    fc.assert(
      fc.property(history, fc.array(fc.boolean(), { minLength: 80, maxLength: 80 }), ({ said }, turns) => {
        const view = new HostView('h');
        const next = [0, 0];
        for (const isSecond of [...turns, ...said.map(() => false), ...said.map(() => true)]) {
          const at = isSecond ? 1 : 0;
          const message = said[next[at] ?? 0];
          if (message === undefined) continue;
          next[at] = (next[at] ?? 0) + 1;
          view.apply(message, SILENT);
          view.settle(message);
        }
        expect(contentOf(view)).toEqual(contentOf(merged(said)));
      }),
    );
  });

  it('I49 a message that came before others settles nothing beyond itself', () => {
    const view = merged([{ host: 'h', incarnation: 1, seq: 0, kind: 'full', allocations: [] }]);
    const change = (seq: number, id: string): HostReport => ({
      ...{ host: 'h', incarnation: 1, seq, kind: 'change', allocation: reportOf('h', id) },
    });
    view.apply(change(3, 'c'), SILENT);
    for (const message of [change(1, 'a'), change(2, 'b')]) {
      view.apply(message, SILENT);
      view.settle(message);
    }
    expect([...view.reports()].map(({ id }) => id).sort()).toEqual(['a', 'b', 'c']);
    expect(view.settled).toEqual({ incarnation: 1, seq: 2 });
  });

  it('forgets tombstones once all up to them is settled', () => {
    const view = merged([
      { host: 'h', incarnation: 1, seq: 0, kind: 'full', allocations: [reportOf('h', 'a')] },
      { host: 'h', incarnation: 1, seq: 1, kind: 'gone', id: 'a' },
    ]);
    view.settle(view.mark);
    const late: HostReport = {
      host: 'h',
      incarnation: 1,
      seq: 1,
      kind: 'change',
      allocation: reportOf('h', 'a'),
    };
    expect(view.apply(late, SILENT)).toBe(false);
    expect(view.size).toBe(0);
    expect(view.messages().map((message) => message.kind)).toEqual(['full', 'beat']);
  });
});
