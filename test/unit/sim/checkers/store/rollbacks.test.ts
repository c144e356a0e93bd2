import { beforeEach, describe, expect, it } from 'vitest';
import { checkRollbacks } from '../../../../../sim/checkers/store/rollbacks.ts';
import { Findings } from '../../../../../sim/checkers/replay/violations.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;

beforeEach(() => {
  run = new HandRun();
});

function wrongs(): string[] {
  const findings = new Findings();
  checkRollbacks(run.history, findings);
  return findings.violations.map(({ invariant, key }) => `${invariant} ${key}`);
}

const read = (actor: string): void => run.read(actor, [KEYS.meta]);

/** The snapshot is one revision older than what the scheduler knows. */
function goBack(): void {
  const saved = run.save();
  run.alive('host-1');
  read('batch-1');
  run.restore(saved);
}

describe('I54 a store that went back', () => {
  it('may answer once whoever knew more, and as often as it likes whoever did not', () => {
    goBack();
    read('batch-1');
    read('batch-2');
    read('batch-2');
    expect(wrongs()).toEqual([]);
  });

  it('is asked again by one who knew more', () => {
    goBack();
    read('batch-1');
    read('batch-1');
    expect(wrongs()).toEqual(['I54 batch-1']);
  });

  it('may be asked by one who has begun anew', () => {
    goBack();
    read('batch-1');
    run.history.add('actors', { actor: 'batch-1', role: 'scheduler', instance: 2, change: 'started' });
    read('batch-1');
    read('batch-1');
    expect(wrongs()).toEqual([]);
  });

  it('may answer late what was asked before more was known', () => {
    const saved = run.save();
    const from = run.history.asking();
    run.alive('host-1');
    read('batch-1');
    run.history.read('batch-1', from, [KEYS.meta], saved);
    read('batch-1');
    run.restore(run.save());
    expect(wrongs()).toEqual([]);
  });
});
