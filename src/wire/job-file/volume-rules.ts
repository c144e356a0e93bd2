import type { JobType } from '../../core/cell/job.ts';
import type { GroupFile } from './job-schema.ts';
import { rangeOf } from './job-schema.ts';
import type { RuleFault } from './problems.ts';

type VolumeFile = NonNullable<GroupFile['volumes']>[string];

/** Notes a fault at a path in the group. */
type Fault = (path: readonly string[], text: string) => void;

/** What volumes and mounts of a group may not say together. */
export function checkVolumes(at: readonly string[], group: GroupFile, type: JobType): RuleFault[] {
  const { volumes = {}, tasks } = group;
  const faults: RuleFault[] = [];
  const fault: Fault = (path, text) => void faults.push({ path: [...at, ...path], text });
  for (const [name, volume] of Object.entries(volumes)) {
    checkAccess(group, type, name, volume, fault);
    if (volume.scope === 'global') checkGlobal(name, volume, fault);
    else checkLocal(group, name, volume, fault);
    if (Object.values(tasks).every(({ mounts = {} }) => !Object.hasOwn(mounts, name)))
      fault(['volumes', name], `no task mounts it: write mounts: { ${name}: {} }`);
  }
  checkMounts(group, fault);
  return faults;
}

function checkAccess(
  group: GroupFile,
  type: JobType,
  name: string,
  { access = 'exclusive', claim }: VolumeFile,
  fault: Fault,
): void {
  const path = ['volumes', name];
  const { update } = group;
  const count = rangeOf(group).max;
  if (claim !== undefined && access === 'exclusive' && count > 1)
    fault(
      [...path, 'claim'],
      `only one of ${String(count)} could have it: write access: shared, or no claim`,
    );
  if (type === 'system')
    fault(path, 'a system job has one allocation on every matching host, and no data of its own there');
  if (access === 'exclusive' && (update?.strategy === 'start-first' || (update?.canary ?? 0) > 0))
    fault(
      path,
      'a new version that starts beside the old one would have no data: update stop-first, without canary',
    );
  if (access === 'shared' && group.gang === true)
    fault(path, 'members of a gang have no common data; remove gang, or this field');
}

/** A driver brings the data to wherever the job goes. */
function checkGlobal(
  name: string,
  { access, driver, forceDetach, source, onLoss }: VolumeFile,
  fault: Fault,
): void {
  const path = ['volumes', name];
  if (driver === undefined)
    fault(
      path,
      'scope: global takes a driver that brings it to hosts: write driver: NAME, of a host that has it (moorage hosts -o json)',
    );
  if (source !== undefined)
    fault(
      [...path, 'source'],
      'a folder that one host announces is of scope local; remove this field, or scope',
    );
  if (onLoss === 'recreate')
    fault(
      [...path, 'onLoss'],
      'its data is lost with no host, so that nothing begins again; remove this field',
    );
  if (forceDetach === true && access === 'shared')
    fault([...path, 'forceDetach'], 'who shares it waits for nobody to detach it; remove this field');
}

/** Data stays where it is; whatever would move its job without it, or start it beside it, contradicts. */
function checkLocal({ reschedule }: GroupFile, name: string, volume: VolumeFile, fault: Fault): void {
  const path = ['volumes', name];
  const { onLoss = 'keep' } = volume;
  for (const field of ['driver', 'size', 'forceDetach'] as const)
    if (volume[field] !== undefined)
      fault(
        [...path, field],
        'data on one host has no driver: write scope: global too, or remove this field',
      );
  if (reschedule?.onRequest === true)
    fault(
      ['reschedule', 'onRequest'],
      `its volume ${name} stays on its host, and the job with it: remove this field`,
    );
  if (reschedule?.onDrain === true)
    fault(
      ['reschedule', 'onDrain'],
      `its volume ${name} stays on the host that is drained, and the job with it: remove this field`,
    );
  if (onLoss === 'keep' && reschedule?.onHostLost === true)
    fault(
      ['reschedule', 'onHostLost'],
      `its volume ${name} stays on the lost host: write onLoss: recreate for the volume, to begin again without the data, or onHostLost: false`,
    );
  if (onLoss === 'recreate' && reschedule?.onHostLost !== true)
    fault(
      [...path, 'onLoss'],
      'nothing is begun again unless it is replaced: write reschedule: { onHostLost: true } too',
    );
}

function checkMounts({ volumes = {}, tasks }: GroupFile, fault: Fault): void {
  for (const [task, { mounts = {}, driver = 'exec' }] of Object.entries(tasks))
    for (const [name, { path, readOnly }] of Object.entries(mounts)) {
      const place = ['tasks', task, 'mounts', name];
      if (!Object.hasOwn(volumes, name))
        fault(
          place,
          `the group has no volume "${name}"; its volumes: ${Object.keys(volumes).join(', ') || 'none'}`,
        );
      if (driver === 'exec' && path !== undefined)
        fault(
          [...place, 'path'],
          'a plain process sees the files of its host, and finds the volume at $MOORAGE_VOLUME_<NAME>; remove this field',
        );
      if (driver === 'exec' && (readOnly ?? volumes[name]?.readOnly) === true)
        fault(place, 'a plain process cannot be kept from writing: write driver: sandbox or oci');
    }
}
