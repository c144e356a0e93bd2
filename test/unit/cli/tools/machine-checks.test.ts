import { expect, test } from 'vitest';
import {
  clockCheck,
  kernelCheck,
  nodeCheck,
  rightsCheck,
  secondsAhead,
} from '../../../../cli/tools/machine-checks.ts';

test.each([
  ['20.19.0', 'ok'],
  ['24.1.0', 'ok'],
  ['20.18.3', 'missing'],
  ['18.20.1', 'missing'],
])('Node %s is %s, with what to install', (version, state) => {
  const check = nodeCheck(version);
  expect(check.state).toBe(state);
  expect(check.remedy === undefined).toBe(state === 'ok');
});

test('the kernel', () => {
  expect(kernelCheck('linux', '6.1.0-18-amd64').state).toBe('ok');
  expect(kernelCheck('linux', '4.9.1')).toMatchObject({
    state: 'weak',
    remedy: expect.any(String) as string,
  });
  expect(kernelCheck('darwin', '24.0.0').state).toBe('missing');
});

test('a clock that tickets do not survive is told by the difference to a monitor', () => {
  const url = 'http://a';
  expect(clockCheck({ url, aheadMs: 0 }, false)).toMatchObject({ state: 'ok' });
  expect(clockCheck({ url, aheadMs: 90_000 }, true)).toMatchObject({
    ...{ state: 'missing', detail: '90.0 s behind http://a' },
    remedy: expect.stringContaining('chrony') as string,
  });
  expect(clockCheck({ url, aheadMs: -90_000 }, true).detail).toBe('90.0 s ahead of http://a');
  expect(clockCheck(null, true).state).toBe('ok');
  expect(clockCheck(null, false).state).toBe('weak');
  // The date of an answer has whole seconds.
  expect([secondsAhead(5_000, 5_999), secondsAhead(5_000, 7_999), secondsAhead(9_000, 5_000)]).toEqual([
    0, -2_000, 4_000,
  ]);
});

test('too few open files', () => {
  expect(rightsCheck(0, 65_536)).toEqual({ name: 'rights', state: 'ok', detail: 'root, 65536 open files' });
  expect(rightsCheck(1000, 1024)).toMatchObject({
    state: 'weak',
    remedy: expect.stringContaining('ulimit') as string,
  });
});
