import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { CliError, EXIT } from '../../../../../cli/command/exit.ts';
import type { RunFlags } from '../../../../../cli/sim/run-spec.ts';
import { specOf } from '../../../../../cli/sim/run-spec.ts';
import { runTask } from '../../../../../cli/sim/sweep/run-task.ts';
import { readWorkload } from '../../../../../cli/sim/workload/workload.ts';

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

const HEAD = '; MaxNodes: 4\n; MaxProcs: 32\n';
const HOSTS = '{"hosts":[{"count":4,"cpu":2,"memory":"4Gi"}]}\n';
const JOB = '{"at":1,"runtime":"2m","task":{"cpu":1,"memory":"1Gi"}}';

test.each([
  ['empty.swf', '', /its header does not tell the machine: put "; MaxNodes/],
  ['no-jobs.swf', HEAD, /there is no job in it/],
  ['cut.swf', `${HEAD}1 0 5 10`, /line 3 is not 18 numbers/],
  ['huge.swf', `${HEAD}1 0 5 1e300 1 -1 -1 1 9 -1 1 1 1 1 1 -1 -1 -1`, /line 3: field 4 is 1e300/],
  ['huge-machine.swf', '; MaxNodes: 1e99\n; MaxProcs: 1e99\n', /does not tell the machine/],
  ['many-hosts.swf', '; MaxNodes: 999999999\n; MaxProcs: 999999999\n', /MaxNodes is 999999999/],
  ['empty.ndjson', '', /line 1 is no JSON/],
  ['no-jobs.ndjson', HOSTS, /there is no job in it/],
  ['cut.ndjson', `${HOSTS}${JOB.slice(0, 20)}`, /line 2 is no JSON/],
  [
    'unit.ndjson',
    HOSTS + JOB.replace('2m', '2 moons'),
    /line 2: runtime: expected seconds above 0, or a duration/,
  ],
  ['missing.ndjson', HOSTS + JOB.replace('"runtime":"2m",', ''), /line 2: runtime: expected/],
  ['late.ndjson', HOSTS + JOB.replace('1,', '1e300,'), /line 2: at: Too big/],
  ['key.ndjson', HOSTS + JOB.replace('"at"', '"att"'), /line 2: at: is missing/],
  [
    'key.yaml',
    'duration: 1h\nhosts: [{ count: 1, cpu: 1, memory: 1Gi }]\nclases: {}\n',
    /did you mean "classes"/,
  ],
  [
    'job-key.yaml',
    'duration: 1h\nhosts: [{ count: 1, cpu: 1, memory: 1Gi }]\nclasses: {}\ntimeout: 5m\n',
    /4:1: error: unknown key "timeout"; known here: name, duration, hosts,/,
  ],
  ['damaged.swf.gz', 'not gzipped', /cannot read .*damaged\.swf\.gz: incorrect header check/],
])('%s: one error that names the place, and what to do', async (name, text, why) => {
  writeFileSync(join(folder, name), text);
  const failed = await readWorkload(folder, name, OPTIONS).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(CliError);
  const { message, hint, exitCode } = failed as CliError;
  expect(message).toMatch(why);
  expect(message).toContain(name);
  expect({ exitCode, hint }).toEqual({
    exitCode: EXIT.badSpec,
    hint: expect.stringMatching(/docs\/omega/) as string,
  });
});

test.each([
  [
    'openb_node_list_all_node.csv',
    'sn,cpu_milli,memory_mib,gpu\nh1,1,1,0\n',
    /node_list_all_node.csv:1: there is no column model/,
  ],
  ['openb_pod_list_default.csv', '', /pod_list_default.csv:1: expected a line of column titles/],
  ['openb_pod_list_default.csv', 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,1,1,0,0\n', /has no times/],
  [
    'openb_pod_list_default.csv',
    'name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,creation_time,deletion_time,scheduled_time\np1,1,1,0,0,LS,0,',
    /pod_list_default.csv:2: deletion_time: expected a whole number, found nothing/,
  ],
])('openb, %s: a damaged list is told with its line', async (name, text, why) => {
  const openb = mkdtempSync(join(folder, 'openb-'));
  const pods = 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\n';
  writeFileSync(
    join(openb, 'openb_node_list_all_node.csv'),
    'sn,cpu_milli,memory_mib,gpu,model\nh1,1,1,0,\n',
  );
  writeFileSync(join(openb, 'openb_pod_list_default.csv'), pods);
  writeFileSync(join(openb, name), text);
  await expect(readWorkload(openb, '.', OPTIONS)).rejects.toThrow(why);
});

test('a choice that the workload does not offer is refused, with what there is', async () => {
  const openb = mkdtempSync(join(folder, 'openb-'));
  writeFileSync(
    join(openb, 'openb_node_list_all_node.csv'),
    'sn,cpu_milli,memory_mib,gpu,model\nh1,1,1,0,\n',
  );
  writeFileSync(join(openb, 'openb_pod_list_default.csv'), '');
  await expect(readWorkload(openb, '.', { ...OPTIONS, list: 'defalt' })).rejects.toMatchObject({
    message: `${openb} has no openb_pod_list_defalt.csv; did you mean "default"?`,
    hint: '--list with one of default',
  });
  writeFileSync(join(folder, 'any.yaml'), '');
  await expect(readWorkload(folder, 'any.yaml', { ...OPTIONS, nodes: 'gpu' })).rejects.toThrow(/openb-2023/);
  await expect(readWorkload(folder, 'any.yaml', { ...OPTIONS, jobs: 3 })).rejects.toThrow(/--jobs/);
});
