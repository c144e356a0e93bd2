import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { TaskDriver } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';
import type { TaskFiles } from './task-files.ts';
import { artifactEnv } from './task-files.ts';

const COPY_MS = 600_000;

/**
 * A process of the host, held to its limits where the kernel gives them. It could write to anything that its host lets it
 * see, so it gets its artifacts as copies of its own.
 */
export function execDriver(commands: Commands | undefined, disk: Disk, files: TaskFiles | null): TaskDriver {
  return {
    attributes: { 'driver.exec': 'true' },
    async prepare({ task, allocation }, launch) {
      const artifacts = Object.entries(task.artifacts ?? {});
      if (artifacts.length === 0) return launch;
      if (files === null || commands === undefined) throw new PrepareError('this host brings no artifacts');
      const folder = `allocations/${allocation.id}/work/artifacts`;
      await disk.makeFolder(folder);
      for (const [name, artifact] of artifacts) {
        const target = `${folder}/${name}`;
        await disk.remove(target);
        const copy = ['cp', '-a', '--reflink=auto', '--', files.pathOf(artifact), disk.absolute(target)];
        const { code, err } = await commands.run(copy, COPY_MS);
        if (code !== 0) throw new PrepareError(`cannot copy its artifact ${name}: ${err.trim()}`);
      }
      return { ...launch, env: { ...launch.env, ...artifactEnv(task, disk.absolute(folder)) } };
    },
    cleanup: async () => true,
    scan: async () => [],
  };
}
