import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Task } from '../../src/core/cell/job.ts';
import { DriverWorld, leftOf } from '../support/driver-world.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { describeNeeding, firstMissing, program } from '../support/needs.ts';

function sandboxed(script: string, changes: Partial<Task> = {}) {
  const command = ['sh', '-c', script];
  const stop = { signal: 'SIGTERM', graceMs: 5_000 };
  return someStart({
    tasks: [someTask({ driver: 'sandbox', command, stop, ...changes })],
  });
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
