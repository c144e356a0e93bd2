import { beforeEach, describe, expect, it } from 'vitest';
import { checkStoreOrder } from '../../../../../sim/checkers/store/store.ts';
import { Findings } from '../../../../../sim/checkers/replay/violations.ts';
import { History } from '../../../../../sim/history/history.ts';
import type { Attempt, AttemptReply } from '../../../../../src/ports/cell-store.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
const key = KEYS.aliveOf('host-1');

beforeEach(() => {
  run = new HandRun();
});

function wrongs(): string[] {
  const findings = new Findings();
  checkStoreOrder(run.history, findings);
  return findings.violations.map(({ detail }) => detail.replace(/^revision \d+: /, ''));
}

function tell(attempt: Partial<Attempt>, reply: AttemptReply, from = run.history.asking()): void {
  run.history.attempted('batch-1', from, { compares: [], writes: [], readBack: [], ...attempt }, reply);
}

describe('the order of the store', () => {
  it('holds for what a store that keeps its word answers', () => {
    run.read('batch-1', [key, KEYS.meta]);
    run.list('batch-1', KEYS.hosts);
    run.drop('host-1', key);
    // Somebody else was first to delete it: etcd makes no revision of a delete that finds nothing.
    tell({ writes: [{ kind: 'delete', key }] }, { outcome: 'applied', revision: revision() });
    run.read('batch-1', [key]);
    const compares = [{ key, target: 'modRevision' as const, equals: 7 }];
    tell({ compares }, { outcome: 'refused', revision: revision(), found: new Map() });
    tell({ compares }, { outcome: 'unknown', cause: new Error('cut') });
    expect(wrongs()).toEqual([]);
  });

  it('finds a value of another revision, and a key that was left out', () => {
    run.read('batch-1', [key], { value: '{}' });
    run.list('batch-1', KEYS.hosts, 1);
    expect(wrongs()).toEqual([expect.stringContaining('was read as of'), '1 of its 2 keys were listed']);
  });

  it('finds an answer that is older than one that was complete before', () => {
    const from = run.history.asking();
    run.alive('host-1');
    const found = new Map();
    const compares = [{ key: KEYS.meta, target: 'modRevision' as const, equals: 9 }];
    tell({ compares }, { outcome: 'refused', revision: revision() - 1, found }, from);
    expect(wrongs()).toEqual([]);
    tell({ compares }, { outcome: 'refused', revision: revision() - 1, found });
    expect(wrongs()).toEqual([expect.stringContaining('was answered with')]);
  });

  it('finds a revision that two were told, one told of a revision of somebody else, and a write that is not there', () => {
    const writes = [{ kind: 'put' as const, key: KEYS.meta, value: 'x' }];
    tell({ writes }, { outcome: 'applied', revision: revision() });
    expect(wrongs()).toEqual([
      'was answered that it made this revision, which host-2 made',
      'its put by batch-1 was acknowledged, and is not there',
      '2 attempts were answered with this revision',
    ]);
  });

  it('finds compares that were not honoured, either way', () => {
    const compares = [{ key, target: 'createRevision' as const, equals: 0 }];
    run.write('host-1', [{ kind: 'put', key, value: '{}' }], compares);
    tell({}, { outcome: 'refused', revision: revision(), found: new Map() });
    expect(wrongs()).toEqual([
      'was applied, and a compare of it does not hold',
      'was refused, and all its compares hold',
    ]);
  });

  it('holds over a restore, after which revisions come twice', () => {
    const saved = run.save();
    run.drop('host-1', key);
    run.read('batch-1', [key, KEYS.meta]);
    run.restore(saved);
    run.read('batch-1', [key, KEYS.meta]);
    run.alive('host-2');
    run.list('batch-1', KEYS.hosts);
    expect(wrongs()).toEqual([]);
  });

  it('finds a view from before the restore: a value that is gone, and an answer of the older generation', () => {
    const saved = run.save();
    run.alive('host-1');
    const from = run.history.asking();
    const { revision: seen, entries } = run.save();
    run.restore(saved);
    run.history.read('batch-1', from, [key], { revision: saved.revision, entries });
    run.history.read('batch-1', run.history.asking(), KEYS.alive, { revision: seen, entries }, 0);
    expect(wrongs()).toEqual(
      expect.arrayContaining([
        expect.stringContaining('was read as of'),
        expect.stringMatching(/^was answered with .* of a restored store was known$/),
      ]),
    );
  });

  it('finds a key that is newer than the snapshot from which it is said to come', () => {
    const saved = run.save();
    run.alive('host-1');
    run.restore({ ...saved, entries: run.save().entries });
    expect(wrongs()).toEqual([expect.stringContaining('was restored as of')]);
  });

  it('finds a revision that is missing', () => {
    run.history.revision(revision() + 2, 'host-1', []);
    expect(wrongs()).toEqual([expect.stringMatching(/^revision \d+ after \d+$/)]);
  });

  const revision = (): number => run.history.revisions.at(-1)?.fact.revision ?? 0;
});

describe('at size', () => {
  it('goes once through a hundred thousand operations of a store that keeps its word', () => {
    const history = new History(() => 0);
    const mods = new Map<string, { mod: number; create: number }>();
    for (let n = 2; n <= 100_001; n++) {
      const name = `k${String(n % 500)}`;
      const before = mods.get(name);
      const from = history.asking();
      const entry = { key: name, value: String(n), createRevision: before?.create ?? n, modRevision: n };
      const compares = [{ key: name, target: 'modRevision' as const, equals: before?.mod ?? 0 }];
      const attempt = {
        compares,
        writes: [{ kind: 'put' as const, key: name, value: String(n) }],
        readBack: [],
      };
      history.revision(n, 'a', [{ kind: 'put', entry }], attempt);
      history.attempted('a', from, attempt, { outcome: 'applied', revision: n });
      mods.set(name, { mod: n, create: entry.createRevision });
    }
    const findings = new Findings();
    checkStoreOrder(history, findings);
    expect(findings.count).toBe(0);
  });
});
