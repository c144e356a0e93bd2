import { expect, it } from 'vitest';
import type { Census } from '../../../../src/core/detector/attribution.ts';
import { Detector } from '../../../../src/core/detector/detector.ts';
import type { Suspect } from '../../../../src/core/detector/suspects.ts';
import { domainSuspect, hostSuspect } from '../../../../src/core/detector/suspects.ts';
import type { Subject } from '../../../../src/core/detector/units.ts';

const CENSUS: Census = {
  count: (kind) => ({ revision: 20, artifact: 20, registry: 3, host: 12, domain: 6 })[kind],
  isRecent: () => false,
};
const DAY_MS = 24 * 3_600_000;

function subject(job: string, host: number, more: readonly Suspect[] = []): Subject {
  const revision = `default/${job}/${job}/1`;
  const rack = domainSuspect('rack', `r${String(Math.floor(host / 4))}`);
  const name = `host-${String(host)}`;
  return {
    ...{ job: `default/${job}`, revision, host: name },
    suspects: [`revision/${revision}`, hostSuspect(name), rack, ...more],
  };
}

/** Twelve hosts in three racks, each with these jobs, all of them well. */
function wellCell(jobs: readonly string[]): Detector {
  const detector = new Detector();
  for (let host = 0; host < 12; host++) for (const job of jobs) detector.up(subject(job, host), 0, 1);
  return detector;
}

function crash(detector: Detector, one: Subject, atMs: number): void {
  detector.up(one, atMs, -1);
  for (let n = 0; n < 3; n++) detector.failed('run', one, atMs, 'exit code 1');
}

const found = (detector: Detector, atMs: number) =>
  detector.judge(atMs, CENSUS).map(({ suspect, isDecided }) => [suspect, isDecided]);

it('S3.21 a version that is bad on many hosts is at fault when all else there is well, and on most of its hosts', () => {
  const detector = wellCell(['web', 'api', 'log']);
  for (const host of [0, 5]) crash(detector, subject('web', host), 1_000);
  expect(found(detector, 1_000)).toEqual([]);
  for (const host of [2, 7, 9]) crash(detector, subject('web', host), 2_000);
  expect(found(detector, 2_000)).toEqual([]);
  for (const host of [1, 3, 10, 11]) crash(detector, subject('web', host), 3_000);
  expect(found(detector, 3_000)).toEqual([['revision/default/web/web/1', true]]);
  const [finding] = detector.judge(3_000, CENSUS);
  expect(finding).toMatchObject({ well: 3, control: { bad: 0, well: 18 } });
});

it('S3.21 a host is at fault when its jobs are well elsewhere, and not when they are bad elsewhere too', () => {
  const detector = wellCell(['a', 'b', 'c', 'd', 'e']);
  for (const job of ['a', 'b', 'c', 'd', 'e']) crash(detector, subject(job, 4), 1_000);
  expect(found(detector, 1_000)).toEqual([['host/host-4', true]]);
  const all = wellCell(['a', 'b', 'c', 'd', 'e']);
  for (let host = 0; host < 12; host++)
    for (const job of ['a', 'b', 'c', 'd', 'e'])
      if ((host + job.charCodeAt(0)) % 2 === 0) crash(all, subject(job, host), 1_000);
  expect(found(all, 1_000)).toEqual([]);
});

it('S3.23 a bad version that was submitted shortly before does not hide a host on which much fails', () => {
  const detector = new Detector();
  const jobs = ['one', 'two', 'three', 'four'];
  for (let host = 0; host < 6; host++)
    for (const job of ['web', 'api', 'queue', ...(host === 5 ? [] : jobs)])
      detector.up(subject(job, host), 0, 1);
  for (const host of [0, 1, 2]) crash(detector, subject('bad', host), 1_000);
  for (const job of jobs) crash(detector, subject(job, 5), 2_000);
  const bad = 'revision/default/bad/bad/1';
  const census = { ...CENSUS, isRecent: (suspect: Suspect) => suspect === bad };
  const suspects = detector.judge(2_000, census).map(({ suspect }) => suspect);
  expect(suspects.sort()).toEqual(['host/host-5', bad]);
});

it('S3.28 a rack whose hosts fail days after all came up is found as the rack', () => {
  const detector = wellCell(['a', 'b', 'c']);
  const atMs = 5 * DAY_MS;
  for (const host of [4, 5, 6, 7])
    for (const job of ['a', 'b', 'c']) crash(detector, subject(job, host), atMs);
  expect(found(detector, atMs)).toEqual([['domain/rack/r1', true]]);
});

it('S3.27 what has nothing like it elsewhere is not judged', () => {
  const detector = new Detector();
  for (let host = 0; host < 12; host++) crash(detector, subject('only', host), 1_000);
  expect(found(detector, 1_000)).toEqual([]);
});

it('S3.19 what failed is forgotten after some half-lives, and its memory is bounded', () => {
  const detector = wellCell(['a', 'b', 'c', 'd', 'e']);
  for (const job of ['a', 'b', 'c', 'd', 'e']) crash(detector, subject(job, 4), 1_000);
  expect(found(detector, 3_600_000)).toEqual([]);
  expect(detector.standing('host/host-4', 3_600_000)).toEqual({ bad: 0, well: 0 });
  const small = new Detector(100);
  for (let n = 0; n < 500; n++) small.failed('run', subject(`job-${String(n)}`, n), 0, 'x'.repeat(5_000));
  expect(small.standing('domain/rack/r0', 0).bad).toBe(0);
  expect(small.standing('domain/rack/r124', 0).bad).toBe(4);
});
