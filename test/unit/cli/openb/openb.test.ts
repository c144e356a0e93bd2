import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCsv } from '../../../../cli/openb/csv.ts';
import { podJob, readHosts, readPods, shuffled } from '../../../../cli/openb/openb.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';

const PODS = `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos
openb-pod-0000,12000,16384,1,1000,,LS
openb-pod-0001,6000,12288,1,460,V100M16|V100M32|V100M32,LS
openb-pod-0002,4000,0,0,0,,BE
openb-pod-0003,88000,327680,8,1000,G2,BE
`;

describe('pods', () => {
  test('shares, models named twice, and pods without a GPU', () => {
    expect(
      readPods(PODS, 'pods.csv').map(({ gpus, gpuMilliEach, models }) => [gpus, gpuMilliEach, models]),
    ).toEqual([
      [1, 1000, []],
      [1, 460, ['V100M16', 'V100M32']],
      [0, 0, []],
      [8, 1000, ['G2']],
    ]);
  });

  test('lists with only the first five columns, with CRLF, without a last line end', () => {
    const [pod] = readPods('name,cpu_milli,memory_mib,num_gpu,gpu_milli\r\np,1,2,0,0', 'pods.csv');
    expect(pod).toMatchObject({ name: 'p', cpuMilli: 1, memoryMib: 2, models: [] });
  });

  test('every pod is a job that the cell accepts, with the same amounts', () => {
    for (const pod of readPods(PODS, 'pods.csv')) {
      const reading = parseJobObject(podJob(pod, 'replay'));
      if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
      const task = Object.values(Object.values(reading.job.groups)[0]?.tasks ?? {})[0];
      expect(task?.resources.cpuMilli).toBe(pod.cpuMilli);
      expect(task?.resources.memoryMib).toBe(Math.max(1, pod.memoryMib));
      expect(task?.gpu).toEqual(
        pod.gpus === 0 ? null : { count: pod.gpus, milliEach: pod.gpuMilliEach, models: pod.models },
      );
    }
  });

  test('what is no number is refused with its line', () => {
    expect(() => readPods(PODS.replace('6000', 'many'), 'pods.csv')).toThrow(
      /pods\.csv:3: cpu_milli: expected a whole number, found "many"/,
    );
    expect(() => readPods(PODS.replace('460', '1460'), 'pods.csv')).toThrow(
      /pods\.csv:3: gpu_milli: 1460 is no share/,
    );
  });
});

test('a host has one device for each GPU', () => {
  expect(readHosts('sn,cpu_milli,memory_mib,gpu,model\nn0,1,2,0,\nn1,3,4,2,T4\n', 'nodes.csv')).toEqual([
    { id: 'n0', cpuMilli: 1, memoryMib: 2, gpuModels: [] },
    { id: 'n1', cpuMilli: 3, memoryMib: 4, gpuModels: ['T4', 'T4'] },
  ]);
});

test('a quoted field may hold anything', () => {
  const field = fc.string({ maxLength: 10 });
  fc.assert(
    fc.property(fc.array(fc.tuple(field, field), { minLength: 1, maxLength: 5 }), (rows) => {
      const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;
      const text = `a,b\n${rows.map(([a, b]) => `${quote(a)},${quote(b)}`).join('\n')}\n`;
      expect(readCsv(text, 'x').map((row) => [row('a'), row('b')])).toEqual(
        rows.map(([a, b]) => [a.trim(), b.trim()]),
      );
    }),
  );
});

test('a shuffle keeps every item and depends on the chance only', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.infiniteStream(fc.nat()), (items, chance) => {
      const result = shuffled(items, (bound) => (chance.next().value ?? 0) % bound);
      expect([...result].sort((a, b) => a - b)).toEqual([...items].sort((a, b) => a - b));
    }),
  );
});
