import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { Isolation } from './isolation.ts';
import { asStranger } from './isolation.ts';
import type { AttemptOrder, TaskDriver } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';
import type { TaskSecrets } from './task-secrets.ts';
import { SECRETS_ENV, secretsFor } from './task-secrets.ts';
import type { TaskFiles } from './task-files.ts';
import { artifactEnv } from './task-files.ts';

const COPY_MS = 600_000;

export interface ExecParts {
  readonly commands: Commands | undefined;
  readonly disk: Disk;
  readonly files: TaskFiles | null;
  readonly isolation: Isolation;
  /** null: this host keeps none. */
  readonly secrets: TaskSecrets | null;
}

/**
 * A process of the host, held to its limits where the kernel gives them, and a stranger there where the agent may make it
 * one. It could write to anything that its host lets it see, so its artifacts are copies.
 */
export function execDriver(parts: ExecParts): TaskDriver {
  const { disk, isolation } = parts;
  return {
    attributes: { 'driver.exec': 'true' },
    async prepare(order, launch) {
      const folder = `allocations/${order.allocation.id}`;
      const secrets = await secretsFor(parts.secrets, order, order.uid);
      const plain = secrets === null ? launch : { ...launch, env: { ...launch.env, [SECRETS_ENV]: secrets } };
      const shown = secrets === null ? {} : { show: [{ from: secrets, to: secrets }] };
      const stranger = { ...asStranger(plain, order, disk.absolute(folder), isolation), ...shown };
      if (Object.keys(order.task.artifacts ?? {}).length === 0) return stranger;
      await copyArtifacts(parts, order, `${folder}/artifacts`);
      const env = artifactEnv(order.task, disk.absolute(`${folder}/artifacts`));
      return { ...stranger, env: { ...stranger.env, ...env } };
    },
    cleanup: async () => true,
    scan: async () => [],
  };
}

/**
 * Beside its working folder and not in it: what is done there is done by the agent's user, who must not follow a link that
 * a task has laid. A task that is a stranger can read them.
 */
async function copyArtifacts(
  { commands, disk, files }: ExecParts,
  { task }: AttemptOrder,
  folder: string,
): Promise<void> {
  if (files === null || commands === undefined) throw new PrepareError('this host brings no artifacts');
  await disk.makeFolder(folder);
  const steps: string[][] = [['chmod', '755', '--', disk.absolute(folder)]];
  for (const [name, artifact] of Object.entries(task.artifacts ?? {})) {
    const target = disk.absolute(`${folder}/${name}`);
    await disk.remove(`${folder}/${name}`);
    steps.push(['cp', '-a', '--reflink=auto', '--', files.pathOf(artifact), target]);
    steps.push(['chmod', '-R', 'u+rwX,go+rX', '--', target]);
  }
  for (const step of steps) {
    const { code, err } = await commands.run(step, COPY_MS);
    if (code !== 0) throw new PrepareError(`cannot copy its artifacts: ${err.trim()}`);
  }
}
