import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Task } from '../../src/core/cell/job.ts';
import { DriverWorld, leftOf } from '../support/driver-world.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { runInside } from '../support/inside.ts';
import { describeNeeding, firstMissing, itWhere, program, root } from '../support/needs.ts';

function sandboxed(script: string, changes: Partial<Task> = {}) {
  const command = ['sh', '-c', script];
  const stop = { signal: 'SIGTERM', graceMs: 5_000 };
  return someStart({
    tasks: [someTask({ driver: 'sandbox', command, stop, ...changes })],
  });
}

/** The user of a process with this mark; none when it has none, or has ended. */
function uidOfMarked(pid: string, mark: string): readonly number[] {
  try {
    if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark)) return [];
    return [Number(/^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])];
  } catch {
    return [];
  }
}

describeNeeding(firstMissing(program('bwrap'), program('cc')), 'sandboxed tasks', () => {
  const world = new DriverWorld();
  beforeAll(() => world.open());
  afterAll(() => world.close());

  it('the host is registered with its sandbox', async () => {
    expect((await world.host()).attributes['driver.sandbox']).toBe('bubblewrap');
  });

  it('has no capability, no other process, no file of the host but its programs, and no network', async () => {
    const { report, output } = await world.run(
      sandboxed(`grep -E '^(CapEff|NoNewPrivs)' /proc/self/status
ls /proc | grep -c '^[0-9]'
for path in /root /home /etc/shadow ${world.folder.path}; do [ -e $path ] && echo "sees $path"; done
touch /usr/x /x 2>/dev/null && echo writes
tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '
pwd; touch kept; echo data >/tmp/private; hostname >/dev/null`),
    );
    expect(report.reason).toBe('done');
    expect(output).toMatch(/^CapEff:\t0{16}$/m);
    expect(output).toMatch(/^NoNewPrivs:\t1$/m);
    expect(output).toMatch(/^lo\n\/work\n$/m);
    expect(output).not.toMatch(/sees|writes/);
    expect(Number(/^\d+$/m.exec(output)?.[0])).toBeLessThanOrEqual(6);
    expect(existsSync(`${world.folder.path}/state/allocations/${report.id}/work/kept`)).toBe(true);
  });

  it('I68 changes nothing of the kernel, and asks it for nothing that leads out', async () => {
    const settings = [
      'kernel/core_pattern',
      'kernel/panic',
      'kernel/hostname',
      'vm/drop_caches',
      'fs/file-max',
    ];
    const before = settings.map((name) =>
      name.startsWith('vm') ? '' : readFileSync(`/proc/sys/${name}`, 'utf8'),
    );
    const { output } = await world.run(
      sandboxed(`for name in ${settings.join(' ')}; do echo 1 2>/dev/null >/proc/sys/$name && echo "sets $name"; done
for path in /proc/sysrq-trigger /proc/irq/default_smp_affinity; do echo h 2>/dev/null >$path && echo "writes $path"; done
[ -e /sys/kernel ] && echo "sees /sys"
for path in kcore keys timer_list interrupts; do [ "$(head -c1 /proc/$path 2>/dev/null | wc -c)" = 1 ] && echo "reads $path"; done
unshare -Ur true 2>/dev/null && echo "makes namespaces"
mount -t tmpfs none /tmp 2>/dev/null && echo mounts
grep -E '^(Seccomp|NoNewPrivs|Cap...):' /proc/self/status; cat /proc/self/uid_map`),
    );
    expect(output).not.toMatch(/sets|writes|sees|reads|makes|mounts/);
    expect(output).toMatch(/^Seccomp:\t2$/m);
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'])
      expect(output).toMatch(new RegExp(`^Cap${set}:\t0{16}$`, 'm'));
    const after = settings.map((name) =>
      name.startsWith('vm') ? '' : readFileSync(`/proc/sys/${name}`, 'utf8'),
    );
    expect(after).toEqual(before);
  });

  itWhere(root(), 'I68 its user is nobody else’s outside, and so is that of a command inside', async () => {
    const id = await world.start(sandboxed('echo up; exec sleep 1000'));
    await world.said(id, 'up');
    const ran = await runInside(
      world.client,
      world.agent.address,
      id,
      `grep -E '^(Seccomp|CapBnd|NoNewPrivs|Groups)' /proc/self/status; pwd`,
    );
    const uids = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => uidOfMarked(pid, `MOORAGE_ATTEMPT=${id}.main.1`));
    await world.stop(id);
    expect(uids.length).toBeGreaterThanOrEqual(3);
    expect(new Set(uids).size).toBe(1);
    expect(uids[0]).toBeGreaterThanOrEqual(1_879_048_192);
    expect(ran.said).toMatch(/^Seccomp:\t2$/m);
    expect(ran.said).toMatch(/^CapBnd:\t0{16}$/m);
    expect(ran.said).toMatch(/^NoNewPrivs:\t1$/m);
    expect(ran.said).toMatch(/\n\/work\n$/);
  });

  it('ends with the code of its command, and knows its job', async () => {
    const { report, output } = await world.run(sandboxed('echo "$MOORAGE_JOB $HOME"; exit 7'));
    expect(report.exit).toEqual({ code: 7 });
    expect(output).toBe('web /work\n');
  });

  it('gets the signal of a stop, and time to end', async () => {
    const id = await world.start(
      sandboxed(`trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`),
    );
    await world.said(id, 'up');
    await world.stop(id);
    expect(await world.output(id)).toBe('up\nbye\n');
    expect(await leftOf(id)).toEqual([]);
  });

  it('I29 nothing is left of one that takes no signal and left its session', async () => {
    const id = await world.start(
      sandboxed(
        `trap '' TERM; setsid sh -c 'trap "" TERM; sleep 1000' & echo up; while :; do sleep 1; done`,
        {
          stop: { signal: 'SIGTERM', graceMs: 100 },
        },
      ),
    );
    await world.said(id, 'up');
    expect((await world.stop(id)).state).toBe('killed');
    expect(await leftOf(id)).toEqual([]);
  });

  it('reaches what listens on its host only with network: host', async () => {
    const server = createServer((socket) => socket.end('reached\n'));
    const port = await new Promise<number>((done) =>
      server.listen(0, '127.0.0.1', () => done((server.address() as { port: number }).port)),
    );
    const script = `exec 3<>/dev/tcp/127.0.0.1/${String(port)} && cat <&3`;
    const command = ['bash', '-c', script];
    try {
      expect((await world.run(sandboxed('', { command, network: 'host' }))).output).toBe('reached\n');
      expect((await world.run(sandboxed('', { command }))).report.state).toBe('failed');
    } finally {
      server.close();
    }
  });
});
