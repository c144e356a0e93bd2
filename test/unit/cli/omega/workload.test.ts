import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import type { RunFlags } from '../../../../cli/omega/run-spec.ts';
import { specOf } from '../../../../cli/omega/run-spec.ts';
import { runTask } from '../../../../cli/omega/run-task.ts';
import { readWorkload } from '../../../../cli/omega/workload.ts';
import { OutFolder } from '../../../../cli/omega/out-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'moorage-omega-'));
afterAll(() => rmSync(folder, { recursive: true }));

const OPTIONS = { list: 'default', nodes: 'all', scale: 1 };
const FLAGS: RunFlags = {
  ...{ schedulers: 2, serviceSchedulers: 1, conflictCheck: 'resource-fit', commit: 'incremental' },
  ...{ tJob: 0.1, tTask: 0, serviceTJob: 5, sample: 1, endsMove: false, retry: 'auto', scale: 1, seed: 1 },
};

test('an SWF log, gzipped: gangs wait for room and are all placed', async () => {
  const job = (id: number, submit: number): string =>
    `${String(id)} ${String(submit)} -1 60 6 -1 -1 6 -1 1024 1 1 1 -1 1 -1 -1 -1`;
  const text = `; MaxNodes: 2\n; MaxProcs: 8\n${[0, 1, 2, 3].map((n) => job(n, n)).join('\n')}\n`;
  writeFileSync(join(folder, 'log.swf.gz'), gzipSync(text));
  const workload = await readWorkload(folder, 'log.swf.gz', OPTIONS);
  const spec = specOf(workload, 'shared-state', FLAGS);
  const { result } = await runTask({ spec, trace: workload.trace });
  // Six of eight cores each: one after the other.
  expect(result.classes[0]).toMatchObject({ submitted: 4, placed: 4, abandoned: 0 });
  expect(result.classes[0]?.placedP90).toBeGreaterThan(100);
});

test('a folder of openb: devices are given out and no pod is lost', async () => {
  writeFileSync(
    join(folder, 'openb_node_list_all_node.csv'),
    'sn,cpu_milli,memory_mib,gpu,model\nh1,8000,16000,2,T4\nh2,8000,16000,0,\n',
  );
  writeFileSync(
    join(folder, 'openb_pod_list_default.csv'),
    'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n' +
      'p1,1000,1000,1,600,T4,LS,Running,0,100,5\np2,1000,1000,1,600,,BE,Running,1,100,\np3,1000,1000,1,600,,BE,Running,2,50,4\n',
  );
  const workload = await readWorkload(folder, '.', OPTIONS);
  const { result } = await runTask({
    spec: specOf(workload, 'shared-state', FLAGS),
    trace: workload.trace,
  });
  expect(result.classes.map(({ work, submitted, placed }) => [work, submitted, placed])).toEqual([
    ['batch', 2, 2],
    ['service', 1, 1],
  ]);
  // Two devices and three pods of more than half of one: the last waits for the first end.
  expect(Math.max(...result.classes.map(({ placedP90 }) => placedP90 ?? 0))).toBeGreaterThan(40);
});

test('lines of jobs, under each design', async () => {
  const lines = [
    '{"hosts":[{"count":4,"cpu":2,"memory":"4Gi"}]}',
    '{"at":0,"class":"service","runtime":"10m","task":{"cpu":1,"memory":"1Gi"}}',
    '{"at":1,"tasks":3,"runtime":30,"task":{"cpu":1,"memory":"1Gi"}}',
  ];
  writeFileSync(join(folder, 'jobs.ndjson'), `${lines.join('\n')}\n`);
  const workload = await readWorkload(folder, 'jobs.ndjson', OPTIONS);
  for (const design of ['monolithic', 'multi-path', 'two-level', 'shared-state'] as const) {
    const spec = specOf(workload, design, FLAGS);
    const { result } = await runTask({ spec, trace: workload.trace });
    const batch = result.classes.find(({ work }) => work === 'batch');
    expect(batch, design).toMatchObject({ submitted: 1, placed: 1, tasksPlaced: 3 });
    // Behind the service's five seconds only where there is one queue.
    if (design === 'monolithic' || design === 'multi-path') expect(batch?.waitMean).toBeCloseTo(4);
    if (design === 'shared-state') expect(batch?.waitMean).toBe(0);
  }
});

test('what is wrong with a workload is told with its place', async () => {
  writeFileSync(join(folder, 'bad.yaml'), 'duration: 1h\nhosts: []\nclasses: {}\n');
  await expect(readWorkload(folder, 'bad.yaml', OPTIONS)).rejects.toThrow(/bad\.yaml:\d+:\d+: error: hosts/);
  await expect(readWorkload(folder, 'none.yaml', OPTIONS)).rejects.toThrow('cannot read none.yaml');
  writeFileSync(join(folder, 'bad.swf'), 'hello\n');
  await expect(readWorkload(folder, 'bad.swf', OPTIONS)).rejects.toThrow('is not 18 numbers');
});

test('a finished point is found again; one that cannot be read is not', async () => {
  const out = new OutFolder(join(folder, 'out'));
  await out.make();
  expect(await out.readPoint('a')).toBeNull();
  await out.writePoint('a', { wallSeconds: 1 } as never);
  expect(await out.readPoint('a')).toEqual({ wallSeconds: 1 });
  writeFileSync(join(folder, 'out', 'points', 'b.json'), '{"half');
  expect(await out.readPoint('b')).toBeNull();
});
