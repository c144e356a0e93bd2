import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { findMarked } from '../../src/adapters/processes/proc-files.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { encodeLaunch, exitFile } from '../../src/wire/host-files/attempt-files.ts';
import type { TestGroup } from '../support/machine-rights.ts';
import {
  firstGroups,
  groupsMissing,
  testGroup,
  unifiedGroups,
  unsharing,
} from '../support/machine-rights.ts';
import { describeNeeding, itWhere, program } from '../support/needs.ts';
import { buildShim, stateFolder } from '../support/real-host.ts';
import { ShimWorld, until } from '../support/shim-world.ts';

const tools = stateFolder();
// Under sanitizers where they are: what is killed here is found by much reading of the kernel's texts.
const shim = buildShim(tools.path, 'sanitize') ?? buildShim(tools.path);
afterAll(() => tools[Symbol.dispose]());
const pids = firstGroups('pids');
const unified = unifiedGroups();
const freezer = firstGroups('freezer');
const noUnshare = unsharing('--pid', '--fork', '--mount-proc');

/**
 * Every process leaves its session and its group, ignores what it can, and goes on forking. Where the kernel shares the processor
 * out by session, each counts as much as all of the tests: so they are not too many, and pause.
 */
const BOMB = `
  use POSIX; $SIG{$_} = 'IGNORE' for qw(HUP INT QUIT TERM USR1 USR2);
  while (1) { my $child = fork(); POSIX::setsid() if defined $child && $child == 0; select(undef, undef, undef, 0.05) }`;
const COUNTER = `
  #include <signal.h>
  #include <stdio.h>
  int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    setvbuf(stdout, NULL, _IONBF, 0);
    for (printf("up\\n"); ; printf("got\\n")) sigwaitinfo(&set, NULL);
  }`;
const PROCESSES_MAX = 30;

/** @returns empty: it is gone */
function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${String(pid)}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

describeNeeding(program('cc'), 'killing everything, by the native shim', () => {
  const world = new ShimWorld({ kind: 'native', path: shim ?? '' });
  afterAll(() => world.close());

  /** One that is dying is in no group any more, and still to be seen for a moment. */
  const noneLeft = (name: string): Promise<void> =>
    until(async () => (await findMarked([`MOORAGE_ATTEMPT=${name}`])).length === 0);

  /** Starts the bomb within a limit of processes, and kills it once it is at the limit. */
  const killBomb = async (order: Partial<ShimLaunch>, limit: TestGroup): Promise<void> => {
    writeFileSync(limit.file('pids.max'), String(PROCESSES_MAX));
    const cgroupProcs = [limit.file('cgroup.procs'), ...(order.cgroupProcs ?? [])];
    const name = await world.begin(['perl', '-e', BOMB], { ...order, cgroupProcs });
    await until(() => limit.processes().length >= PROCESSES_MAX - 5);
    const link = await world.link(name);
    await link.killTree();
    expect(await world.exit(name)).toMatchObject({ signal: 'SIGKILL', left: 0 });
    await until(() => limit.processes().length === 0);
    await noneLeft(name);
  };

  itWhere(
    groupsMissing({ 'v1 pids': pids, v2: unified }),
    'I29 a fork bomb that left its session, by cgroup.kill',
    async () => {
      using limit = testGroup(pids ?? '');
      using group = testGroup(unified ?? '');
      const kill = [{ kind: 'cgroup' as const, path: group.file('cgroup.kill') }];
      await killBomb({ kill, cgroupProcs: [group.file('cgroup.procs')] }, limit);
    },
  );

  itWhere(
    groupsMissing({ 'v1 pids': pids, 'v1 freezer': freezer }),
    'I29 a fork bomb that left its session, by the freezer',
    async () => {
      using limit = testGroup(pids ?? '');
      using group = testGroup(freezer ?? '');
      const kill = [{ kind: 'freezer' as const, path: group.path }];
      await killBomb({ kill, cgroupProcs: [group.file('cgroup.procs')] }, limit);
    },
  );

  itWhere(
    groupsMissing({ 'v1 pids': pids }),
    'I29 a fork bomb that left its session, by descent alone',
    async () => {
      using limit = testGroup(pids ?? '');
      await killBomb({}, limit);
    },
  );

  it('a task that stopped itself hears that it is to end', async () => {
    const name = await world.shell('trap "echo heard; exit 4" TERM; kill -STOP $$; sleep 1000');
    const { pid } = await world.started(name);
    await until(() => /^State:\s+T/m.test(readFileSync(`/proc/${String(pid)}/status`, 'utf8')));
    await world.processes.signal(name, 'SIGTERM', 1);
    expect(await world.exit(name)).toMatchObject({ code: 4 });
  });

  it('a task that stopped itself and ignores everything dies at its deadline', async () => {
    // It has stopped itself by then.
    const name = await world.shell('trap "" TERM INT HUP; kill -STOP $$; while :; do sleep 0.05; done', {
      ...{ runMaxMs: 3_000, stop: { signal: 'SIGTERM', graceMs: 100 } },
    });
    expect(await world.exit(name)).toMatchObject({ signal: 'SIGKILL', stoppedBy: 'run-max' });
  });

  itWhere(noUnshare, 'pid 1 of a pid namespace takes all of it along', async () => {
    const name = await world.shell(
      'exec unshare --pid --fork --kill-child --mount-proc sh -c "trap : TERM; setsid sleep 1000 & echo up; wait; sleep 1000"',
    );
    await world.printed(name, 'up');
    await world.processes.killTree(name);
    expect(await world.exit(name)).toMatchObject({ left: 0 });
    await noneLeft(name);
  });

  it('S2.16 real-time signals arrive as often as they were sent, and no oftener', async () => {
    // Shells and Perl make one of several that wait; only sigwaitinfo sees each.
    const counter = join(tools.path, 'counter');
    writeFileSync(`${counter}.c`, COUNTER);
    expect(spawnSync('cc', ['-o', counter, `${counter}.c`]).status).toBe(0);
    const name = await world.begin([counter]);
    await world.printed(name, 'up');
    const link = await world.link(name);
    for (let sequence = 1; sequence <= 60; sequence++) {
      expect(await link.signal('SIGRTMIN', sequence)).toBe(0);
      if (sequence % 3 === 0) expect(await link.signal('SIGRTMIN', sequence)).toBe(0);
    }
    await world.printed(name, 'got\n'.repeat(60));
    await link.killTree();
    await world.exit(name);
    expect(world.output(name).toString().split('\n').length).toBe(62);
    expect(readFileSync(world.pathOf(name, 'acks'), 'utf8').split('\n').slice(0, 2)).toEqual(['1 0', '2 0']);
  });

  itWhere(noUnshare, 'I30 a reused pid is neither signalled nor joined nor adopted', async () => {
    const folder = join(world.folder.path, 'reuse');
    const attempt = join(folder, 'attempts', 'a.main.1');
    mkdirSync(attempt, { recursive: true });
    mkdirSync(join(folder, 'events'));
    const order: ShimLaunch = {
      ...{
        cwd: '/',
        outBase: 0,
        errBase: 0,
        segmentBytes: 1000,
        segmentsMax: 2,
        env: process.env as never,
      },
      command: ['true'],
    };
    // The pid of a process that has ended is given to another one: only the start time tells them apart.
    const script = `
      sleep 0 & old=$!; start=$(cut -d" " -f22 /proc/$old/stat); wait $old; sleep 0.02
      echo $((old - 1)) > /proc/sys/kernel/ns_last_pid; sleep 1000 & new=$!
      printf 'join\\0%s:%s\\0' $old $start >> ${attempt}/launch
      echo $old $new; ${shim ?? ''} --run ${folder} a.main.1; kill -0 $new && echo alive; kill -9 $new`;
    writeFileSync(join(attempt, 'launch'), encodeLaunch(order));
    const done = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'sh', '-c', script], {
      encoding: 'utf8',
    });
    const [numbers = '', alive] = done.stdout.split('\n');
    expect(new Set(numbers.split(' ')).size).toBe(1);
    expect(alive).toBe('alive');
    expect(exitFile.decode(readFileSync(join(attempt, 'exit'), 'utf8'))).toMatchObject({ execErrno: 3 });
  });

  itWhere(
    groupsMissing({ v2: unified }),
    'what a dead shim left is killed by its groups, also who wiped its environment',
    async () => {
      using group = testGroup(unified ?? '');
      const name = await world.shell('exec env -i setsid sleep 1000', {
        cgroupProcs: [group.file('cgroup.procs')],
        kill: [{ kind: 'cgroup', path: group.file('cgroup.kill') }],
      });
      await world.started(name);
      // What `setsid` forks has another number.
      await until(() => group.processes().some((pid) => nameOf(pid) === 'sleep'));
      const claim = JSON.parse(readFileSync(world.pathOf(name, 'claim'), 'utf8')) as { pid: number };
      process.kill(claim.pid, 'SIGKILL');
      await until(async () => !(await world.processes.answers(name)));
      await until(() => group.processes().length === 1);
      expect(await world.processes.killLeftovers(name)).toBe(1);
      await until(() => group.processes().length === 0);
      expect(await world.processes.killLeftovers(name)).toBe(0);
      writeFileSync(world.pathOf(name, 'exit'), '{}');
    },
  );

  it('no sanitizer complained', () => {
    expect(world.complaints()).toEqual([]);
  });
});
