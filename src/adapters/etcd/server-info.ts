import type { Etcd3 } from 'etcd3';
import { storeErrorOf } from './client/faults.ts';

export interface ServerInfo {
  readonly version: string;
  readonly clusterId: string;
  /** Bytes in use of the database file. */
  readonly databaseBytes: number;
  /** For people; null: nothing to say. */
  readonly warning: string | null;
}

/** The oldest release of each line without known faults in watches, leases and reads. */
const SOUND: Readonly<Record<string, number>> = { '3.4': 42, '3.5': 28, '3.6': 9 };

/** @throws StoreError */
export async function readServerInfo(etcd: Etcd3): Promise<ServerInfo> {
  const status = await etcd.maintenance.status().catch((error: unknown) => {
    throw storeErrorOf(error);
  });
  return {
    version: status.version,
    clusterId: status.header.cluster_id,
    databaseBytes: Number(status.dbSize),
    warning: versionWarning(status.version),
  };
}

/** What people should know of a server of this version. */
export function versionWarning(version: string): string | null {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const line = `${String(major)}.${String(minor)}`;
  const advice = 'Moorage works on it; use 3.6 for production';
  if (major < 3 || (major === 3 && minor < 4))
    return `etcd ${version} is too old: 3.4 is the oldest that can work`;
  if (line === '3.4') return `etcd ${version}: the 3.4 line is past its end of life. ${advice}`;
  const sound = SOUND[line];
  if (sound === undefined || patch >= sound) return null;
  return `etcd ${version} has known faults in watches and leases, repaired in ${line}.${String(sound)}. ${advice}`;
}
