import { beforeEach, describe, expect, it } from 'vitest';
import type { RemedyState } from '../../../../../src/core/detector/verdict.ts';
import { CLOSED_REASON, DEFAULT_REMEDIES } from '../../../../../src/core/detector/remedies.ts';
import { eligibilityCodec } from '../../../../../src/wire/records/records.ts';
import { remedyPolicyCodec, verdictCodec } from '../../../../../src/wire/verdicts/verdict-records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
beforeEach(() => {
  // One of five may be closed.
  run = new HandRun(['host-1', 'host-2', 'host-3', 'host-4', 'host-5']);
  const policy = { ...DEFAULT_REMEDIES, perHourMax: 2, sharePercent: 20 };
  run.put('operator', KEYS.remedies, remedyPolicyCodec.encode(policy), 'none');
});

const broken = (): string[] => run.broken({ liveness: null, least: {} });

function close(host: string, reason: string): void {
  const record = { state: 'quarantined', reason, by: 'monitor-1', sinceMs: 1, counter: 1 } as const;
  run.put('monitor-1', KEYS.eligibilityOf(host), eligibilityCodec.encode(record), 'none');
}

/** A verdict whose remedies come one after the other. */
function remedied(host: string, ...states: readonly RemedyState['state'][]): void {
  const suspect = `host/${host}`;
  const counts = { logOddsCenti: 1, bad: 1, well: 0, controlBad: 0, controlWell: 9, firstFailedAtMs: 1 };
  const lists = {
    hosts: [host],
    hostsTotal: 1,
    jobs: [],
    jobsTotal: 1,
    reasons: [],
    changes: [],
    rivals: [],
  };
  const verdict = { suspect, by: 'monitor-1', sinceMs: 1, times: 1, evidence: { ...counts, ...lists } };
  const remedies = states.map((state, at) => ({
    ...{
      remedy: at === 0 ? ('quarantine' as const) : ('drain' as const),
      state,
      atMs: 1_000 + at,
      detail: '',
    },
  }));
  run.put('monitor-1', KEYS.verdict(suspect), verdictCodec.encode({ ...verdict, remedies }), 'none');
}

describe('I75 what is done about verdicts', () => {
  it('closes no more hosts of a pool than its share', () => {
    close('host-1', `${CLOSED_REASON}host-1`);
    close('host-2', 'an operator closes as many as he likes');
    expect(broken()).not.toContain('I75');
    close('host-3', `${CLOSED_REASON}host-3`);
    expect(broken()).toContain('I75');
  });

  it('is no more within an hour than the policy says', () => {
    remedied('host-1', 'applied', 'wanted');
    remedied('host-2', 'refused', 'applied');
    expect(broken()).not.toContain('I75');
    remedied('host-3', 'applied');
    expect(broken()).toContain('I75');
  });
});
