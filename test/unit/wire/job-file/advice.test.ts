import { expect, it } from 'vitest';
import { adviseJobText, formatAdvice } from '../../../../src/wire/job-file/job-file.ts';

const adviceOn = (...lines: readonly string[]): readonly string[] =>
  adviseJobText(lines.join('\n'), 'web.yaml').map(formatAdvice);

it('28 advice names the place in the file and what to write', () => {
  const advice = adviceOn(
    'name: web',
    'type: service',
    'ports: { http: 8080 }',
    'count: 3',
    'command: [serve]',
    'env: { DB_PASSWORD: hunter2, LOG_LEVEL: info }',
  );
  expect(advice.map((line) => line.split(': ').slice(0, 3).join(': '))).toEqual([
    'web.yaml:1:1: advice: reschedule',
    'web.yaml:1:1: advice: update',
    'web.yaml:1:1: advice: resources',
    'web.yaml:3:8: advice: ports',
    'web.yaml:3:16: advice: ports.http',
    'web.yaml:4:8: advice: count',
    'web.yaml:6:21: advice: env.DB_PASSWORD',
  ]);
  expect(advice.at(-1)).toContain('secrets: [db-password]');
});

it('28 a service that says all of it, and a batch job with a deadline, get none', () => {
  const service = [
    ...['name: web', 'type: service', 'groups:', '  web:', '    count: 2', '    distinct: [host]'],
    ...[
      '    ports: { http: auto }',
      '    reschedule: { onHostLost: true }',
      '    update: { autoRevert: true }',
    ],
    ...[
      '    tasks:',
      '      serve:',
      '        command: [serve]',
      '        resources: { cpu: 100m, memory: 64Mi }',
    ],
    ...['        checks: { web: { tcp: http } }'],
  ];
  expect(adviceOn(...service)).toEqual([]);
  const batch = [
    'name: b',
    'type: batch',
    'deadline: 1h',
    'command: ["true"]',
    'resources: { cpu: 100m, memory: 64Mi }',
  ];
  expect(adviceOn(...batch)).toEqual([]);
});

it('28 a single instance, a batch job without an end and a gang of one are told', () => {
  expect(adviceOn('name: web', 'type: service', 'command: [serve]').join('\n')).toContain('start-first');
  const batch = adviceOn('name: b', 'type: batch', 'gang: true', 'command: ["true"]').join('\n');
  expect(batch).toContain('runs for ever');
  expect(batch).toContain('web.yaml:3:7: advice: gang');
});
