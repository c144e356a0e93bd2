import { isId } from '../../src/core/cell/ids.ts';
import type { SystemRole, SystemTask } from '../../src/wire/join/bootstrap-file.ts';

/** Members of the store that a majority of is enough for: more hosts than three gain nothing before five. */
const ETCD_FEW = 3;
/** Of arbiters, of monitors, and of each kind of scheduler: one may die unnoticed. */
const TWICE = 2;
/** What stands before it in the name of a job: `scheduler-service-`. */
const PREFIX_CHARS_MAX = 16;

/** Where everybody listens. The agent's own port is the one that the machine was started with. */
export const SYSTEM_PORTS = {
  etcd: 2379,
  etcdPeer: 2380,
  monitor: 7400,
  arbiter: 7401,
  batch: 7402,
  service: 7404,
  system: 7405,
} as const;

/** The kinds of scheduler that a cell needs, in the order in which hosts get them. */
const KINDS = ['service', 'batch', 'system'] as const;
export type Kind = (typeof KINDS)[number];

/**
 * Which process of the cell runs on which host. The first hosts get members of the store, arbiters and monitors, the last ones
 * schedulers: with three hosts or more none is alone on one of them, but for the scheduler of system jobs.
 * @param hosts in the order in which they were named
 */
export function layoutOf(hosts: readonly string[]): readonly Omit<SystemTask, 'allocation'>[] {
  const members = hosts.slice(0, hosts.length < ETCD_FEW ? 1 : ETCD_FEW);
  const first = hosts.slice(0, TWICE);
  const last = hosts.slice(-TWICE);
  const task = (role: SystemRole, id: string, host: string) => ({ name: `${role}-${id}`, role, id, host });
  return [
    ...members.map((host) => task('etcd', host, host)),
    ...first.map((host) => task('arbiter', host, host)),
    ...first.map((host) => task('monitor', host, host)),
    ...KINDS.flatMap((kind) =>
      (kind === 'system' ? last.slice(-1) : last).map((host) => task('scheduler', `${kind}-${host}`, host)),
    ),
  ];
}

/** Whether its jobs can be named after the host. */
export function isHostName(host: string): boolean {
  return isId(host) && isId(`${'x'.repeat(PREFIX_CHARS_MAX)}${host}`);
}

/** Of a scheduler. */
export function kindOf({ id }: Pick<SystemTask, 'id'>): Kind {
  return KINDS.find((kind) => id.startsWith(`${kind}-`)) ?? 'service';
}
