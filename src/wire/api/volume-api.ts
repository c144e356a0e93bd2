import type { LeftData, VolumeAccess, VolumeOnLoss } from '../../core/cell/volume.ts';

/**
 * The monitor's API about data that outlives allocations.
 *
 *   GET    /v1/volumes?namespace              → VolumeListAnswer, of the namespaces that the caller sees
 *   DELETE /v1/volumes/:namespace/:claim?lost → 204, the data is gone | 404 `no-such-volume` | 409 `volume-in-use`,
 *                                               `host-away` (with `lost` data on a host that is away is given up; of a driver: no host that has it deletes it),
 *                                               `contended`
 */
export interface VolumeStatus {
  readonly namespace: string;
  readonly claim: string;
  /** Where its data lies; of a volume driver: the host of its last holder. */
  readonly host: string;
  /** Its host answers. */
  readonly isThere: boolean;
  readonly source?: string;
  readonly access: VolumeAccess;
  readonly onLoss: VolumeOnLoss;
  /** Whose allocation was first placed with it. */
  readonly job: string;
  readonly createdAtMs: number;
  /** Allocations that have it. */
  readonly holders: readonly string[];
  /** Data that was left on lost hosts. */
  readonly left: readonly LeftData[];
  readonly isDeleting: boolean;
  /** Of scope `global`: the driver that brings it to hosts. Absent: its scope is `local`. */
  readonly driver?: string;
  /** Its last holder did not detach it, and somebody answers for it that nothing runs on `host` any more. */
  readonly fenced?: true;
}

export interface VolumeListAnswer {
  readonly volumes: readonly VolumeStatus[];
}
