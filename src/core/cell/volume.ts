/**
 * Folders that outlive the allocations that use them. A group declares them by name, its tasks mount them. Each is claimed
 * under a name of its namespace. Of scope `local`, the claim's record says on which host the data lies; of scope `global` a
 * volume driver brings it to whichever host its holder is on (`docs/volume-drivers.md`).
 */

/** `exclusive`: one allocation at a time. `shared`: any number, on the one host. */
export const VOLUME_ACCESS = ['exclusive', 'shared'] as const;
export type VolumeAccess = (typeof VOLUME_ACCESS)[number];

/**
 * When the host of the data is lost. `keep`: the job waits for it. `recreate`: it begins again elsewhere with an empty folder,
 * and what it leaves stays on the lost host.
 */
export const VOLUME_ON_LOSS = ['keep', 'recreate'] as const;
export type VolumeOnLoss = (typeof VOLUME_ON_LOSS)[number];

/** As a group declares it. */
export interface Volume {
  /** Absent: the job's own, of each slot its own where the access is exclusive. */
  readonly claim?: string;
  /** A volume that hosts announce under this name. Absent: a folder of its own among those of the host. */
  readonly source?: string;
  readonly access: VolumeAccess;
  readonly readOnly?: true;
  readonly onLoss: VolumeOnLoss;
  /** Of scope `global`: the driver that brings it to hosts. Absent: it lies on one host. */
  readonly driver?: string;
  /** For a driver that makes volumes of a size. */
  readonly sizeMib?: number;
  /** Its driver may take it from a host of which somebody answers for it that nothing runs there any more. */
  readonly forceDetach?: true;
}

/** Has the group data that lies on one host? */
export function liesOnHost({
  volumes = {},
}: {
  readonly volumes?: Readonly<Record<string, Volume>>;
}): boolean {
  return Object.values(volumes).some(({ driver }) => driver === undefined);
}

/** Has the allocation data that a driver brought to its host? */
export function hasBrought({ volumes = [] }: { readonly volumes?: readonly VolumeUse[] }): boolean {
  return volumes.some(({ driver }) => driver !== undefined);
}

/** Of a task, under the volume's name. */
export interface Mount {
  /** Where a task with a root of its own finds it; absent: `/volumes/<name>`. */
  readonly path?: string;
  readonly readOnly?: true;
}

/** What an allocation takes of a claim. */
export interface VolumeUse {
  /** As its group names it. */
  readonly name: string;
  readonly claim: string;
  /** Of the data: the id of the allocation that was first placed with it. Data that is begun again has another one. */
  readonly id: string;
  readonly source?: string;
  readonly access: VolumeAccess;
  readonly readOnly?: true;
  readonly onLoss: VolumeOnLoss;
  readonly driver?: string;
  readonly sizeMib?: number;
  /** No holder has begun it yet: its driver is to make it, if it is not there. */
  readonly create?: true;
  /** Its driver is to take it from the host that had it before, if that has it still. */
  readonly force?: true;
}

/** Where the data of a claim lies, in its record. */
export interface VolumeBinding {
  /** Of scope `global`: the host of its last holder. */
  readonly host: string;
  readonly id: string;
  readonly source?: string;
  readonly access: VolumeAccess;
  readonly onLoss: VolumeOnLoss;
  /** Whose allocation was first placed with it. */
  readonly job: string;
  readonly createdAtMs: number;
  /** Data that was left on lost hosts when it was begun again, with the allocations there that are not yet released. */
  readonly left?: readonly LeftData[];
  /** Its user deletes it: nothing is placed with it any more. */
  readonly deleting?: true;
  /** Absent: scope `local`. */
  readonly driver?: string;
  /** Of scope `global`: a holder may have written to it, so that it must be there. */
  readonly begun?: true;
  /**
   * Its last holder did not detach it, and an operator's word or a fence says that nothing runs on `host` any more: only then
   * may it be taken from there.
   */
  readonly fenced?: true;
}

export interface LeftData {
  readonly host: string;
  readonly id: string;
  readonly used: number;
}

/** A claim's name: those of jobs have dots, those that people write have none. */
export function claimName(
  job: string,
  group: string,
  { name, volume, index }: { readonly name: string; readonly volume: Volume; readonly index: number },
): string {
  if (volume.claim !== undefined) return volume.claim;
  return volume.access === 'shared' ? `${job}.${name}` : `${job}.${group}.${name}.${String(index)}`;
}

const CLAIM = /^[a-z0-9][a-z0-9-]{0,62}(\.[a-z0-9][a-z0-9-]{0,62}){0,3}$/;

export function isClaimName(text: string): boolean {
  return CLAIM.test(text);
}

/** Attribute of hosts that keep volumes. */
export const KEEPS_VOLUMES = 'volumes';

/** Attribute of a volume that hosts announce: `rw` or `ro`. */
export function volumeAttribute(source: string): string {
  return `volume.${source}`;
}

/** Attribute of hosts that have this volume driver. */
export function volumeDriverAttribute(driver: string): string {
  return `volume-driver.${driver}`;
}

/** Scalar of an announced volume, of which its host has `VOLUME_WHOLE`; who has it exclusively takes all of it. */
export function volumeScalar(source: string): string {
  return `volume.${source}`;
}

export const VOLUME_WHOLE = 1_000;

export function scalarOf({ access }: Pick<Volume, 'access'>): number {
  return access === 'exclusive' ? VOLUME_WHOLE : 1;
}
