import { expect, it } from 'vitest';
import { askOf } from '../../../../src/core/cell/ask.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';

it('S3.6 what a group asks of a host is the sum over its tasks, sidecars counted like the others', () => {
  const task = (cpu: string, memory: string, more: object = {}) => ({
    ...{ command: ['x'], resources: { cpu, memory, disk: '10Mi', scalars: { licence: 1 } } },
    ...more,
  });
  const groups = {
    web: { tasks: { server: task('500m', '256Mi'), logs: task('100m', '64Mi', { sidecar: true }) } },
  };
  const reading = parseJobObject({ name: 'web', groups });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const group = reading.job.groups['web'];
  if (group === undefined) throw new Error('no group');
  expect(askOf(group).resources).toEqual({
    ...{ cpuMilli: 600, memoryMib: 320, diskMib: 20 },
    scalars: { licence: 2 },
  });
});
