import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { Isolation } from './isolation.ts';
import { asStranger } from './isolation.ts';
import type { AttemptOrder, TaskDriver } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';
import type { TaskSecrets } from './task-secrets.ts';
import { SECRETS_ENV, secretsFor } from './task-secrets.ts';
import type { ShownVolume, TaskVolumes } from '../volumes/volumes.ts';
import { volumeEnv, volumesFor } from '../volumes/volumes.ts';
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
  /** null: this host keeps none. */
  readonly volumes: TaskVolumes | null;
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
      const volumes = await volumesFor(parts.volumes, order, order.uid);
      const stranger = asStranger(launch, order, disk.absolute(folder), isolation);
      const isApart = stranger.apart === true;
      if (volumes.length > 0 && stranger.user !== undefined && !isApart)
        throw new PrepareError('this host cannot show it a volume: its tasks have no view of their own');
      const placeOf = ({ name, from }: ShownVolume): string =>
        isApart ? disk.absolute(`${folder}/volumes/${name}`) : from;
      const show = [
        ...(secrets === null ? [] : [{ from: secrets, to: secrets }]),
        ...(isApart ? volumes.map((one) => ({ from: one.from, to: placeOf(one) })) : []),
      ];
      const shown = {
        ...stranger,
        env: {
          ...launch.env,
          ...(secrets === null ? {} : { [SECRETS_ENV]: secrets }),
          ...volumeEnv(volumes, placeOf),
        },
        ...(show.length === 0 ? {} : { show }),
      };
      if (Object.keys(order.task.artifacts ?? {}).length === 0) return shown;
      await copyArtifacts(parts, order, `${folder}/artifacts`);
      const env = artifactEnv(order.task, disk.absolute(`${folder}/artifacts`));
      return { ...shown, env: { ...shown.env, ...env } };
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
