import type { Group } from './job.ts';
import { interferenceScalars } from './interference.ts';
import type { GpuRequest, Resources } from './resources.ts';
import { addResources, NO_RESOURCES } from './resources.ts';
import { scalarOf, volumeScalar } from './volume.ts';

/**
 * What one allocation of a group needs of a host: the sum over its tasks, sidecars included (S3.6). At most one task of
 * a group has GPUs: the allocation has one device list, and that list is one task's.
 */
export interface Ask {
  readonly resources: Resources;
  readonly gpu: GpuRequest | null;
  /** Port label to fixed number; 0 asks for any free one. */
  readonly ports: Readonly<Record<string, number>>;
  /** Amounts of shared resources, by name; absent: none. */
  readonly shared?: Readonly<Record<string, number>>;
}

export interface GroupAsk {
  readonly group: Group;
  readonly ask: Ask;
}

/**
 * The ask of one allocation of the group.
 * @throws when two tasks ask for GPUs; the job file's parser refuses such a group
 */
export function askOf(group: Group): Ask {
  let resources = NO_RESOURCES;
  let gpu: GpuRequest | null = null;
  let shared: Record<string, number> | null = null;
  for (const task of Object.values(group.tasks)) {
    resources = addResources(resources, task.resources);
    for (const name in task.shared) {
      shared ??= {};
      shared[name] = (shared[name] ?? 0) + (task.shared[name] ?? 0);
    }
    if (task.gpu === null) continue;
    if (gpu !== null) throw new Error(`group ${group.name}: only one task of a group may ask for GPUs`);
    gpu = task.gpu;
  }
  for (const volume of Object.values(group.volumes ?? {}))
    if (volume.source !== undefined)
      resources = addResources(resources, {
        ...NO_RESOURCES,
        scalars: { [volumeScalar(volume.source)]: scalarOf(volume) },
      });
  const scalars = interferenceScalars(group);
  if (scalars !== null) resources = addResources(resources, { ...NO_RESOURCES, scalars });
  return { resources, gpu, ports: group.ports, ...(shared === null ? null : { shared }) };
}
