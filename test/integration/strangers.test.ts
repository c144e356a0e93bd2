import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Task } from '../../src/core/cell/job.ts';
import { ownRange } from '../../host-agent/leases/task-users.ts';
import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { DriverWorld, leftOf } from '../support/driver-world.ts';
import { NO_RESTART, someStart, someTask } from '../support/host-orders.ts';
import { runInside } from '../support/inside.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';
import { untilReport } from '../support/real-host.ts';

const plain = (script: string, changes: Partial<Task> = {}) =>
  someTask({ command: ['sh', '-c', script], ...changes });
const running = (script: string, changes: Partial<Task> = {}) =>
  someStart({ tasks: [plain(script, changes)] });
const here = firstMissing(root(), program('cc'));
/** Of a status file: what a task holds. */
const RIGHTS = `grep -E '^(Uid|Gid|Groups|Cap...|NoNewPrivs)' /proc/self/status`;

describeNeeding(here, 'a plain task is a stranger on its host', () => {
  const world = new DriverWorld();
  const state = join(world.folder.path, 'state');
  const uidOf = (id: string): number | undefined =>
    (JSON.parse(readFileSync(join(state, 'allocations', id, 'spec.json'), 'utf8')) as { uid?: number }).uid;

  beforeAll(async () => {
    process.env['MOORAGE_TEST_SECRET'] = 'of the agent';
    await world.open();
  });
  afterAll(async () => {
    delete process.env['MOORAGE_TEST_SECRET'];
    await world.close();
  });

  it('the host says so', async () => {
    expect((await world.host()).attributes).toMatchObject({
      'isolation.user': 'own',
      'isolation.view': 'own',
      'allow.agent-user': 'false',
      'allow.host-network': 'true',
    });
  });

  it('I68 has a user and a group of its own from the range of its host, and no capability, nor a way to one', async () => {
    const orders = [running(`${RIGHTS}; exec sleep 1000`), running(`${RIGHTS}; exec sleep 1000`)];
    const ids = await Promise.all(orders.map((order) => world.start(order)));
    for (const id of ids) await world.said(id, 'NoNewPrivs');
    const range = ownRange(
      sha256Hex((JSON.parse(readFileSync(join(state, 'identity'), 'utf8')) as { stateId: string }).stateId),
    );
    for (const id of ids) {
      const uid = uidOf(id) ?? 0;
      expect(uid).toBeGreaterThanOrEqual(range.first);
      expect(uid).toBeLessThan(range.first + range.count);
      const said = await world.output(id);
      const four = `${String(uid)}\t`.repeat(4).trim();
      expect(said).toContain(`Uid:\t${four}\n`);
      expect(said).toContain(`Gid:\t${four}\n`);
      expect(said).toMatch(/^Groups:\t *$/m);
      for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'])
        expect(said).toMatch(new RegExp(`^Cap${set}:\t0{16}$`, 'm'));
      expect(said).toMatch(/^NoNewPrivs:\t1$/m);
    }
    expect(new Set(ids.map(uidOf)).size).toBe(2);
    for (const id of ids) {
      await world.stop(id);
      expect(await leftOf(id)).toEqual([]);
    }
    // What was lent is taken back after the release is reported.
    await vi.waitFor(() => expect(readdirSync(join(state, 'leases/user'))).toEqual([]), 10_000);
  });

  it('I68 has an environment made from nothing', async () => {
    const { output } = await world.run(running('env', { env: { OWN: 'word' } }));
    const names = output.split('\n').map((line) => line.split('=')[0]);
    const given = ['ALLOC_INDEX', 'HOME', 'LANG', 'OWN', 'PATH', 'PWD'];
    expect(names.filter((name) => !name?.startsWith('MOORAGE_')).sort()).toEqual(['', ...given]);
    expect(output).not.toContain('of the agent');
    expect(output).toContain('PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n');
  });

  it('I68 sees nothing of its host but its own: no state, no other task, no other process, no shared folder', async () => {
    const secret = join(world.folder.path, 'secret');
    writeFileSync(secret, 'key');
    const foreign = `/tmp/moorage-strangers-${String(process.pid)}`;
    writeFileSync(foreign, 'of somebody else');
    onTestFinished(() => rmSync(foreign));
    const other = await world.start(running('echo mine >kept; echo up; exec sleep 1000'));
    await world.said(other, 'up');
    const pid = (await world.until(other, (report) => report.state === 'running')).tasks['main']?.pid ?? 0;
    const { report, output } = await world.run(
      running(`pwd; echo data >kept && cat $HOME/kept
for path in ${secret} ${state}/journal ${state}/attempts ${state}/allocations/${other} ${foreign}; do
  [ -e $path ] && echo "sees $path"
done
ls ${state} ${state}/allocations 2>/dev/null && echo lists
touch ${state}/x ${state}/allocations/x 2>/dev/null && echo writes
[ -e /proc/${String(pid)} ] && echo "sees a process"
kill -0 ${String(pid)} 2>/dev/null && echo signals
[ -e /proc/${String(process.pid)} ] && echo "sees the agent"
ls /proc | grep -c '^[0-9]'
for folder in /tmp /var/tmp /dev/shm; do [ "$(ls -A $folder | grep -vxF -e moorage -e one)" ] && echo "others in $folder"; done
echo mine >/tmp/one && ls -l /tmp/one /var/tmp/one | wc -l
stat -c '%a %u' . | sed "s/ $(id -u)$/ own/"`),
    );
    await world.stop(other);
    expect(report.reason).toBe('done');
    expect(output).not.toMatch(/sees|lists|writes|signals/);
    expect(output).toMatch(new RegExp(`^${state}/allocations/${report.id}/work\ndata\n[1-6]\n`));
    expect(output).toMatch(/\n2\n700 own\n$/);
  });

  it('I68 tasks of one allocation share its user, its folder and its /tmp', async () => {
    const order = someStart({
      tasks: [
        plain('until [ -e shared ] && [ -e /tmp/shared ]; do sleep 0.02; done; stat -c %u shared; id -u'),
        plain('touch shared /tmp/shared; exec sleep 1000', { name: 'side', sidecar: true }),
      ],
    });
    const { report, output } = await world.run(order);
    expect(report).toMatchObject({ state: 'complete', reason: 'done' });
    const [owner, own] = output.trim().split('\n');
    expect(own).toBe(String(uidOf(order.allocation.id)));
    expect(owner).toBe(own);
  });

  it('I68 a command inside is held as its task is, and is in the same place', async () => {
    const id = await world.start(running('echo word >/tmp/left; echo up; exec sleep 1000'));
    await world.said(id, 'up');
    const ran = await runInside(
      world.client,
      world.agent.address,
      id,
      `${RIGHTS}; cat /tmp/left; pwd; ls /proc | grep -c '^[0-9]'`,
    );
    await world.stop(id);
    const uid = String(uidOf(id));
    expect(ran.said).toMatch(new RegExp(`^Uid:\t${uid}\t${uid}\t`, 'm'));
    expect(ran.said).toMatch(/^CapBnd:\t0{16}$/m);
    expect(ran.said).toMatch(/^NoNewPrivs:\t1$/m);
    expect(ran.said).toMatch(new RegExp(`\nword\n${state}/allocations/${id}/work\n[1-6]\n$`));
  });

  it('I68 an attempt that follows another has the same user and folder', async () => {
    const restart = { ...NO_RESTART, attempts: 1, delayMs: 0, on: 'failure' as const, windowMs: 60_000 };
    const order = someStart({ restart, tasks: [plain('id -u; [ -e mark ] && exit 0; touch mark; exit 1')] });
    const { report, output } = await world.run(order);
    expect(report).toMatchObject({ state: 'complete', restarts: 1 });
    const uid = String(uidOf(order.allocation.id));
    expect(output).toBe(`${uid}\n${uid}\n`);
  });

  it('I68 a job that wants its agent’s user is refused where the host does not allow it', async () => {
    const answer = await world.client.start(world.agent.address, running('true', { user: 'agent' }));
    expect(answer).toMatchObject({ kind: 'refused', code: 'not-allowed' });
    expect(JSON.stringify(answer)).toContain('--allow agent-user');
  });
});

describeNeeding(here, 'strangers over a change of agents', () => {
  it('S2.4 I68 are adopted; users of released allocations are not lent again at once, nor are those of the living', async () => {
    const world = new DriverWorld();
    const open = () => world.open({ stopTasksOnExit: false });
    await open();
    try {
      const lived = await world.start(running('id -u; echo up; exec sleep 1000'));
      await world.said(lived, 'up');
      const first = await world.run(running('id -u'));
      await world.agent.stop();
      await open();
      const second = await world.run(running('id -u'));
      expect((await world.until(lived, (report) => report.state === 'running')).restarts).toBe(0);
      const uids = [(await world.output(lived)).split('\n')[0], first.output.trim(), second.output.trim()];
      expect(new Set(uids).size).toBe(3);
      expect((await world.stop(lived)).state).toBe('killed');
    } finally {
      await world.close();
    }
  });

  it('I68 what an agent of before began runs on as it was begun, and so does what is restarted of it', async () => {
    const world = new DriverWorld();
    await world.open({ stopTasksOnExit: false, settings: { shim: '/nonexistent' } });
    try {
      const restart = { ...NO_RESTART, attempts: 1, delayMs: 0, on: 'failure' as const, windowMs: 60_000 };
      const script = 'id -u; [ -e mark ] && exit 0; touch mark; until [ -e go ]; do sleep 0.02; done; exit 1';
      const order = someStart({ restart, tasks: [plain(script)] });
      const id = await world.start(order);
      await world.said(id, '0');
      await world.agent.stop();
      await world.open();
      expect((await world.host()).attributes['isolation.user']).toBe('own');
      writeFileSync(join(world.folder.path, 'state/allocations', id, 'work/go'), '');
      const report = await untilReport(world.client, world.agent.address, id, (one) => one.released);
      expect(report).toMatchObject({ state: 'complete', restarts: 1 });
      expect(await world.output(id)).toBe('0\n0\n');
    } finally {
      await world.close();
    }
  });

  it('I68 a task of the agent’s user runs where the host allows it', async () => {
    const world = new DriverWorld();
    await world.open({ allow: ['agent-user'] });
    try {
      expect((await world.run(running('id -u', { user: 'agent' }))).output).toBe('0\n');
      expect((await world.run(running('id -u'))).output).not.toBe('0\n');
    } finally {
      await world.close();
    }
  });
});

describe('a host that holds less', () => {
  it('says at its start what it cannot hold', async () => {
    const world = new DriverWorld();
    const said: string[] = [];
    const log = { ...silentLog, warn: (_facts: unknown, text?: string) => void said.push(text ?? '') };
    await world.open({ log, settings: { shim: '/nonexistent' } });
    try {
      expect((await world.host()).attributes).toMatchObject({
        'isolation.user': 'none',
        'isolation.view': 'none',
      });
      expect(said.join('\n')).toContain('tasks run as the user of this agent');
    } finally {
      await world.close();
    }
  });
});
