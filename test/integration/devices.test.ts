import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Task } from '../../src/core/cell/job.ts';
import { GPU_MILLI_PER_DEVICE } from '../../src/core/cell/resources.ts';
import { DriverWorld } from '../support/driver-world.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { busyboxImage } from '../support/image-archive.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';
import { stateFolder } from '../support/real-host.ts';

/** Of devices that whoever reaches a node of them may open: those of `fuse` and of `tun`. */
const ONE = `/dev/moorage-test-${String(process.pid)}-one`;
const TWO = `/dev/moorage-test-${String(process.pid)}-two`;
const PLAIN = ['null', 'zero', 'full', 'urandom', 'random', 'ptmx'].map((name) => `/dev/${name}`);
/** The machine's own node of the same device is the same device. */
const TUN = '/dev/net/tun';
const TUN_IS_OPEN = existsSync(TUN) && (statSync(TUN).mode & 0o004) !== 0;

describeNeeding(
  firstMissing(
    root(),
    program('cc'),
    program('mknod'),
    program('bwrap'),
    program('crun'),
    program('busybox'),
  ),
  'a task opens the devices that it was given',
  () => {
    const world = new DriverWorld();
    const images = stateFolder();
    let image: NonNullable<Task['image']>;

    beforeAll(async () => {
      for (const [path, minor] of [
        [ONE, '229'],
        [TWO, '200'],
      ] as const)
        expect(spawnSync('mknod', ['-m', '666', path, 'c', '10', minor]).status).toBe(0);
      const bytes = busyboxImage(images.path, 'docker');
      const file = join(images.path, 'image');
      writeFileSync(file, bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      image = { source: `file://${file}`, sha256, unpack: true };
      await world.open({
        gpuModels: ['test', 'test', 'other'],
        gpuNodes: [[ONE], [TWO], []],
        artifactSources: [`file://${images.path}/`],
      });
    });
    afterAll(async () => {
      await world.close();
      for (const path of [ONE, TWO]) rmSync(path, { force: true });
      images[Symbol.dispose]();
    });

    /** @returns the paths that it could open */
    async function opened(
      driver: NonNullable<Task['driver']>,
      device: number | null,
      user: Pick<Task, 'user'>,
    ): Promise<readonly string[]> {
      const paths = [ONE, TWO, '/dev/kmsg', TUN, ...PLAIN].join(' ');
      const script = `for one in ${paths}; do (exec 3<$one) 2>/dev/null && echo "opens $one"; done; echo tried`;
      const gpus = device === null ? [] : [{ device, milli: GPU_MILLI_PER_DEVICE }];
      const gpu = device === null ? null : { count: 1, milliEach: GPU_MILLI_PER_DEVICE, models: [] };
      const command = [driver === 'oci' ? '/bin/sh' : 'sh', '-c', script];
      const task = someTask({ driver, gpu, command, ...user, ...(driver === 'oci' ? { image } : {}) });
      const { report, output } = await world.run(someStart({ allocation: { gpus }, tasks: [task] }));
      expect(output, report.reason).toContain('tried');
      const lines = output.split('\n').filter((line) => line.startsWith('opens '));
      return lines.map((line) => line.slice('opens '.length));
    }

    it('the host says that it holds them', async () => {
      expect((await world.host()).attributes['limits.devices']).toBe('v1');
    });

    it.each([
      ['exec', {}],
      ['sandbox', {}],
      ['oci', {}],
      ['sandbox', { user: 'root' }],
      ['oci', { user: 'root' }],
    ] as const)('I68 %s %j: the nodes of its own GPU, and of no other', async (driver, user) => {
      expect(await opened(driver, 0, user)).toEqual([ONE, ...PLAIN]);
      const tun = driver === 'exec' && TUN_IS_OPEN ? [TUN] : [];
      expect(await opened(driver, 1, user)).toEqual([TWO, ...tun, ...PLAIN]);
      expect(await opened(driver, 2, user)).toEqual(PLAIN);
      expect(await opened(driver, null, user)).toEqual(PLAIN);
    });
  },
);
