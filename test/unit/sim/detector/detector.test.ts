import { describe, expect, it } from 'vitest';
import type { Case } from '../../../../sim/detector/cases.ts';
import { CASES } from '../../../../sim/detector/cases.ts';
import { figuresOf } from '../../../../sim/detector/detector.ts';

/** `npm run bench -- detector` runs a thousand of each. */
const SEEDS = 2;

const IDS: Readonly<Record<Case, string>> = {
  'bad-revision': 'S3.19',
  'bad-host': 'S3.21',
  'disk-full': 'S3.21',
  'bad-rack': 'S3.27',
  'late-kernel': 'S3.28',
  'bad-registry': 'S3.21',
  'flaky-network': 'S3.21',
  innocents: 'S3.21',
};

describe('S3.21 who is at fault in model cells with a planted truth', () => {
  it.each(CASES.map((name) => [IDS[name], name] as const))('%s %s', (_, name) => {
    const { wrong } = figuresOf(name, 101, SEEDS);
    expect(wrong).toEqual([]);
  });
});
