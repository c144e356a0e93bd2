/** What operators can pause. What runs goes on in all cases. */
export const PAUSABLE = ['placement', 'eviction', 'rollouts', 'restarts'] as const;
export type Pausable = (typeof PAUSABLE)[number];

/** The attribute of a host that names its pool. */
export const POOL_ATTRIBUTE = 'pool';

/** Where a pause holds, or what it may hold for. A pause has at most one of namespace, pool and host, and a job with its namespace. Nothing: in the whole cell. */
export interface PauseScope {
  readonly namespace?: string;
  readonly job?: string;
  /** Of a job: what is of this version alone. Only verdicts are so narrow. */
  readonly version?: number;
  /** The hosts whose attribute `pool` has this value. */
  readonly pool?: string;
  readonly host?: string;
}

/** An operator's switch, as it is stored. It holds until `endedAtMs` is set, whatever clock anybody has. */
export interface Pause extends PauseScope {
  readonly what: Pausable;
  readonly by: string;
  readonly reason: string;
  readonly sinceMs: number;
  /** Of restarts: each waits so long after the end of its task. Absent: until the pause ends. */
  readonly everyMs?: number;
  /** A monitor ends it then. Absent: an operator does. */
  readonly untilMs?: number;
  /** It has ended: kept for a while, for what counts from its end. */
  readonly endedAtMs?: number;
}

/** Some pauses, by `pauseName`. */
export interface Pauses {
  readonly size: number;
  get(name: string): Pause | undefined;
}

/** The end of a pause's key: `placement/job/team-a/web`. */
export function pauseName(what: Pausable, scope: PauseScope): string {
  return `${what}/${scopeName(scope)}`;
}

function scopeName({ namespace, job, version, pool, host }: PauseScope): string {
  if (host !== undefined) return `host/${host}`;
  if (pool !== undefined) return `pool/${pool}`;
  if (namespace === undefined) return 'cell';
  if (job === undefined) return `namespace/${namespace}`;
  return `job/${namespace}/${job}${version === undefined ? '' : `/${String(version)}`}`;
}

/** Of the widest scope that holds; null: it goes on. */
export function pauseOn(pauses: Pauses, what: Pausable, target: PauseScope): Pause | null {
  if (pauses.size === 0) return null;
  const { namespace, job, version, pool, host } = target;
  const holds = (scope: PauseScope): Pause | null => {
    const pause = pauses.get(pauseName(what, scope));
    return pause === undefined || pause.endedAtMs !== undefined ? null : pause;
  };
  return (
    holds({}) ??
    (namespace === undefined ? null : holds({ namespace })) ??
    (namespace === undefined || job === undefined ? null : holds({ namespace, job })) ??
    (namespace === undefined || job === undefined || version === undefined
      ? null
      : holds({ namespace, job, version })) ??
    (pool === undefined ? null : holds({ pool })) ??
    (host === undefined ? null : holds({ host }))
  );
}

/** When the last pause that held for the target ended, by a monitor's clock; 0: none that is known. */
export function pauseEndedAtMs(pauses: Pauses, what: Pausable, target: PauseScope): number {
  if (pauses.size === 0) return 0;
  const { namespace, job } = target;
  const scopes: readonly PauseScope[] =
    namespace === undefined
      ? [{}]
      : job === undefined
        ? [{}, { namespace }]
        : [{}, { namespace }, { namespace, job }];
  return Math.max(...scopes.map((scope) => pauses.get(pauseName(what, scope))?.endedAtMs ?? 0));
}

/** Where it holds, for people: ` in namespace team-a`; empty: in the whole cell. */
export function whereOf({ namespace, job, version, pool, host }: PauseScope): string {
  if (host !== undefined) return ` on host ${host}`;
  if (pool !== undefined) return ` in pool ${pool}`;
  if (namespace === undefined) return '';
  if (job === undefined) return ` in namespace ${namespace}`;
  return `${version === undefined ? '' : ` of version ${String(version)}`} of job ${namespace}/${job}`;
}

/** `placement is paused`, `restarts are paused`. */
export function isPausedText(what: Pausable): string {
  return what.endsWith('s') ? 'are paused' : 'is paused';
}

export function goesOnText(what: Pausable): string {
  return what.endsWith('s') ? 'go on' : 'goes on';
}

/** A sentence for people: `paused by ada since …: new disks`. */
export function pausedBy(pause: Pause): string {
  const until = pause.untilMs === undefined ? '' : `, until ${new Date(pause.untilMs).toISOString()}`;
  return `paused${whereOf(pause)} by ${pause.by} since ${new Date(pause.sinceMs).toISOString()}${until}: ${pause.reason}`;
}

/** Both ends of a change of what is in force. */
export function isInForce(pause: Pause | undefined): pause is Pause {
  return pause !== undefined && pause.endedAtMs === undefined;
}
