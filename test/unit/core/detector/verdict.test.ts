import { expect, it } from 'vitest';
import type { Evidence } from '../../../../src/core/detector/verdict.ts';
import { faultText, verdictText } from '../../../../src/core/detector/verdict.ts';

const evidenceWith = (...reasons: readonly string[]): Evidence => ({
  ...{ logOddsCenti: 500, bad: 3, well: 0, controlBad: 0, controlWell: 7, firstFailedAtMs: 1 },
  ...{ hosts: ['h1'], hostsTotal: 1, jobs: ['a', 'b', 'c'], jobsTotal: 3, changes: [], rivals: [] },
  reasons,
});
const textsOf = (...reasons: readonly string[]): readonly string[] => {
  const verdict = { suspect: 'host/h1', evidence: evidenceWith(...reasons) };
  return [verdictText(verdict), faultText(verdict)];
};

it('S3.21 who is told that a host is at fault, or why it takes nothing, is told how it failed', () => {
  const [verdict = '', fault = ''] = textsOf('disk-full: 0 bytes are left on the disk of this host');
  expect(fault).toBe(
    'host h1, 3 bad there and 7 of the like well; disk-full: 0 bytes are left on the disk of this host',
  );
  expect(verdict).toMatch(/^host h1 is at fault: .*; disk-full: 0 bytes are left on the disk of this host$/);
});

it('S3.21 one failure stands for many, and not all of a long one', () => {
  for (const text of textsOf('exit code 1', 'exit code 2'))
    expect(text).toMatch(/; exit code 1, and other failures$/);
  for (const text of textsOf('x'.repeat(500))) expect(text).toMatch(/; x{120}…$/);
  for (const text of textsOf()) expect(text).toMatch(/well(, 0 bad)?$/);
});
