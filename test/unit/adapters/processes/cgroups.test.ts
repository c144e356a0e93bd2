import { describe, expect, it } from 'vitest';
import { parseMounts } from '../../../../src/adapters/processes/cgroups.ts';

const INFO = `21 1 259:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:28 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
34 30 0:29 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 30 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`;

describe('mounts of control groups', () => {
  it('knows v1 by its options and v2 by its type, and leaves out what limits nothing', () => {
    expect(parseMounts(INFO)).toEqual([
      { version: 1, controllers: ['cpu', 'cpuacct'], path: '/sys/fs/cgroup/cpu,cpuacct' },
      { version: 1, controllers: ['memory'], path: '/sys/fs/cgroup/memory' },
      { version: 2, controllers: [], path: '/sys/fs/cgroup/unified' },
    ]);
  });

  it('none in an empty or a strange text', () => {
    expect(parseMounts('')).toEqual([]);
    expect(parseMounts('one two\n - \n')).toEqual([]);
  });
});
