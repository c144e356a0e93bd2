import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AllocationStatus, JobStatus } from '../../src/wire/api/monitor-api.ts';
import { jobToFile } from '../../src/wire/job-file/job-file.ts';
import type { CliResult } from '../support/cli.ts';
import { CLI, ended, PROJECT_ROOT, testFolder } from '../support/cli.ts';
import { Machines } from '../support/machines.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';

const HOSTS = ['a', 'b', 'c'];
const SYSTEM_JOBS = [
  ...['arbiter-a', 'arbiter-b', 'etcd-a', 'etcd-b', 'etcd-c', 'monitor-a', 'monitor-b'],
  ...['scheduler-batch-b', 'scheduler-batch-c', 'scheduler-service-b', 'scheduler-service-c'],
  'scheduler-system-c',
];
/** In the command of a job, and what it prints. */
const WORD = 'zebra-crossing';
const IN_CLEAR = 'a-word-in-the-clear';

describeNeeding(
  firstMissing(root(), program('ip'), program('etcd'), program('python3')),
  'a bootstrap',
  () => {
    const folder = testFolder();
    let machines: Machines;
    /** What a bootstrap says to do next. */
    let env: NodeJS.ProcessEnv = {};
    let recorder: ChildProcess;
    const recorded = join(folder.path, 'recorded');
    beforeAll(() => {
      machines = new Machines(HOSTS.length);
      const script = join(PROJECT_ROOT, 'test', 'support', 'record-traffic.py');
      recorder = machines.spawn(0, ['python3', script, recorded], { cwd: folder.path });
    });
    afterAll(async () => {
      await machines[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    });

    const typed = (n: number, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess =>
      machines.spawn(n, [process.execPath, CLI, ...args], {
        cwd: folder.path,
        env: { ...env, NO_COLOR: '1' },
      });
    const moorage = (args: readonly string[], input = ''): Promise<CliResult> => {
      const child = typed(0, args, env);
      child.stdin?.end(input);
      return ended(child);
    };

    function agent(n: number): ChildProcess {
      const [id = '', address] = [HOSTS[n], `10.0.0.${String(n + 1)}:7403`];
      const flags = ['--bare', '--id', id, '--listen', address, '--data', id, '--stop-tasks-on-exit'];
      return typed(n, ['agent', ...flags, '--log-file', `${id}.log`]);
    }
    const BOOTSTRAP = ['bootstrap', 'cell', '--cell', 'prod', '--hosts', '@tokens'];

    /** What it says to do next. */
    function exported({ stdout }: CliResult): NodeJS.ProcessEnv {
      const lines = [...stdout.matchAll(/^export (\w+)=(.*)$/gm)];
      return Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]));
    }
    interface Row {
      readonly name: string;
      readonly phase: string;
      readonly owner: string | null;
      readonly version: number;
      readonly submittedAtMs: number;
      readonly counts: { readonly placed: number; readonly running: number };
    }
    /** When each has an owner, and one process that runs. */
    async function systemJobs(): Promise<readonly Row[]> {
      for (;;) {
        const { stdout, stderr } = await moorage(['ps', '-n', 'system', '-o', 'json']);
        expect(stdout, stderr).toContain('{');
        const { jobs } = JSON.parse(stdout) as { jobs: readonly Row[] };
        if (
          jobs.every(
            ({ phase, owner, counts }) => phase === 'running' && owner !== null && counts.running === 1,
          )
        )
          return [...jobs].sort((one, other) => (one.name < other.name ? -1 : 1));
      }
    }
    async function says(text: string): Promise<void> {
      const run = await moorage(['run', '--', 'sh', '-c', `echo ${text}`]);
      expect([run.code, run.stdout], run.stderr).toEqual([0, `${text}\n`]);
    }

    it('S4.7 S4.8 S4.10 S4.31 makes a cell of three machines while one of them dies, and the next run completes it', async () => {
      await printed(recorder, /recording/);
      const agents = HOSTS.map((_, n) => agent(n));
      const tokens = await Promise.all(agents.map((child) => printed(child, /^moorage-bare\.\S+$/m)));
      writeFileSync(join(folder.path, 'tokens'), tokens.join('\n'));

      const dry = await moorage([...BOOTSTRAP, '--dry-run']);
      expect([dry.code, dry.stdout], dry.stderr).toEqual([
        0,
        expect.stringContaining('etcd-c, unless it runs'),
      ]);

      const first = typed(0, BOOTSTRAP);
      const result = ended(first);
      await printed(first, /c: is a host of the cell/, 'stderr');
      machines.kill(2);
      const one = await result;
      expect([one.code, one.stderr]).toEqual([1, expect.stringMatching(/not there: c, and with it etcd-c/)]);
      env = exported(one);
      await says(WORD);

      await printed(agent(2), /"ready":true/);
      const two = await moorage(BOOTSTRAP);
      expect(two.code, two.stderr).toBe(0);
      const rows = await systemJobs();
      expect(rows.map(({ name }) => name)).toEqual(SYSTEM_JOBS);
      for (const { name, counts, owner } of rows) {
        expect([name, counts.placed]).toEqual([name, 1]);
        expect(owner).toMatch(/^service-[bc]$/);
      }

      // Once more: nothing changes.
      const three = await moorage(BOOTSTRAP);
      expect(three.code, three.stderr).toBe(0);
      const still = ({ name, version, submittedAtMs, counts }: Row): unknown => ({
        ...{ name, version, submittedAtMs, counts },
      });
      expect((await systemJobs()).map(still)).toEqual(rows.map(still));
      await says(WORD);
    });

    it('the machines have the key to which secrets are sealed, and its monitors show its certificate', async () => {
      const secret = await moorage(['secret', 'set', 'word'], WORD);
      expect(secret.code, secret.stderr).toBe(0);
      const digest = createHash('sha256').update(WORD).digest('hex');
      const script = `test "$(sha256sum < "$MOORAGE_SECRETS/word")" = "${digest}  -"`;
      const reader = { name: 'reader', type: 'batch', script, secrets: ['word'] };
      const read = await moorage(['run', '-'], JSON.stringify(reader));
      expect(read.code, read.stderr).toBe(0);
    });

    it('S4.7 a new version of its job upgrades a role, while the cell works', async () => {
      const status = async (): Promise<JobStatus> =>
        JSON.parse((await moorage(['status', 'system/monitor-b', '-o', 'json'])).stdout) as JobStatus;
      const { record } = await status();
      const name = record.job.name;
      const [group, task] = [record.job.groups[name]!, record.job.groups[name]!.tasks[name]!];
      const tasks = { [name]: { ...task, env: { UPGRADED: 'yes' } } };
      const job = { ...record.job, groups: { [name]: { ...group, tasks } } };
      const run = await moorage(['run', '-'], JSON.stringify(jobToFile(job)));
      expect(run.code, run.stderr).toBe(0);
      const isUp = ({ allocation, report }: AllocationStatus): boolean =>
        allocation.jobVersion === 2 && report?.state === 'running';
      for (;;) {
        const { allocations } = await status();
        if (allocations.length === 1 && allocations.every(isUp)) break;
      }
      await says(WORD);
    });

    it('S4.13 no word of a job is in the clear between the machines', async () => {
      const send = `require('net').connect(7999, '10.0.0.1').end('${IN_CLEAR}')`;
      const take = `require('net').createServer((s) => s.resume().on('end', () => process.exit())).listen(7999, () => console.log('listens'))`;
      const taking = machines.spawn(0, [process.execPath, '-e', take], { cwd: folder.path });
      const taken = ended(taking);
      await printed(taking, /listens/);
      machines.spawn(1, [process.execPath, '-e', send], { cwd: folder.path });
      await taken;
      const frames = readFileSync(recorded);
      // What is in the clear is found.
      expect(frames.includes(IN_CLEAR)).toBe(true);
      expect(frames.length).toBeGreaterThan(1_000_000);
      for (const word of [WORD, 'moorage', '/v1/', 'sh -c']) expect(frames.includes(word), word).toBe(false);
    });
  },
);

/** @returns what it printed that fits; fails when it ends without */
function printed(
  child: ChildProcess,
  pattern: RegExp,
  stream: 'stdout' | 'stderr' = 'stdout',
): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    child[stream]?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const found = pattern.exec(text)?.[0];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new Error(`it ended: ${text}`)));
  });
}
