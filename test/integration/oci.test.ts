import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Task } from '../../src/core/job.ts';
import { DriverWorld, leftOf, ownId } from '../support/driver-world.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { busyboxImage } from '../support/image-archive.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';
import { stateFolder } from '../support/real-host.ts';

const missing = firstMissing(
  root(),
  ...['cc', 'bwrap', 'busybox'].map(program),
  program('crun') === null ? null : program('runc'),
);

describeNeeding(missing, 'tasks from images', () => {
  const world = new DriverWorld();
  const images = stateFolder();
  const archives = new Map<string, Task['image']>();

  beforeAll(async () => {
    for (const kind of ['docker', 'oci'] as const) {
      const bytes = busyboxImage(images.path, kind);
      writeFileSync(join(images.path, `${kind}.image`), bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      archives.set(kind, { source: `file://${images.path}/${kind}.image`, sha256, unpack: true });
    }
    await world.open({ artifactSources: [`file://${images.path}/`] });
  });
  afterAll(async () => {
    await world.close();
    images[Symbol.dispose]();
  });

  function container(script: string, changes: Partial<Task> = {}) {
    const image = archives.get('docker');
    if (image === undefined) throw new Error('no image');
    const stop = { signal: 'SIGTERM', graceMs: 300 };
    const task = someTask({ driver: 'oci', image, command: ['sh', '-c', script], stop, ...changes });
    return someStart({ allocation: { id: ownId() }, tasks: [task] });
  }

  const leftovers = async (id: string): Promise<readonly string[]> => {
    const files = ['containers', 'bundles'].flatMap((name) =>
      readdirSync(join(world.folder.path, 'state', 'oci', name)),
    );
    return [...(await leftOf(id)), ...files.filter((name) => name.startsWith(id))];
  };

  it('the host is registered with its runtime', async () => {
    expect((await world.host()).attributes['driver.oci']).toMatch(/^(crun|runc)$/);
  });

  it.each(['docker', 'oci'])('an archive of %s becomes its root, layer upon layer', async (kind) => {
    const image = archives.get(kind);
    const script = 'cat /etc/motd; ls /gone 2>/dev/null; echo $GREETING $MOORAGE_JOB; exit 42';
    const { report, output } = await world.run(container(script, image === undefined ? {} : { image }));
    expect(report).toMatchObject({ state: 'failed', exit: { code: 42 } });
    expect(output).toBe('two layers\nhello web\n');
    expect(await leftovers(report.id)).toEqual([]);
  });

  it('has no capability, no other process, nothing to write to but its own, and no network', async () => {
    const { report, output } = await world.run(
      container(`grep -E '^(CapEff|NoNewPrivs)' /proc/self/status
ls /proc | grep -c '^[0-9]'
touch /x /etc/x 2>/dev/null && echo writes
touch /tmp/x /work/x && grep -c ' lo\\|lo:' /proc/net/dev
wc -l </proc/net/dev`),
    );
    expect(report.reason).toBe('done');
    expect(output).toMatch(/^CapEff:\t0{16}\nNoNewPrivs:\t1$/m);
    expect(output).not.toContain('writes');
    expect(Number(output.trim().split('\n').at(-1))).toBe(3);
  });

  it('I35 is held to its limits like every other task', async () => {
    const { report } = await world.run(container('x=x; while :; do x="$x$x"; done'));
    expect(report.exit?.oomKills).toBeGreaterThanOrEqual(1);
    expect(report.reason).toContain('out of memory, its limit is 64Mi');
  });

  it('I29 nothing is left of one that takes no signal: no process, group, container or bundle', async () => {
    const id = await world.start(
      container(`trap '' TERM; (trap '' TERM; sleep 1000) & echo up; while :; do sleep 1; done`),
    );
    await world.said(id, 'up');
    expect((await world.stop(id)).state).toBe('killed');
    expect(await leftovers(id)).toEqual([]);
  });

  it('what is no image fails the allocation, and says so', async () => {
    const bytes = Buffer.from('no image');
    writeFileSync(join(images.path, 'bad.image'), bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const image = { source: `file://${images.path}/bad.image`, sha256, unpack: true };
    const { report } = await world.run(container('true', { image }));
    expect(report.reason).toMatch(/^task main lacks its image: cannot unpack it/);
  });
});
