import { groupFields, jobFields } from './job-schema.ts';
import { taskFields } from './task-schema.ts';
import { didYouMean, nearest } from '../values/suggest.ts';

/** Words of other schedulers, and ours. */
const SYNONYMS: Readonly<Record<string, string>> = {
  replicas: 'count',
  instances: 'count',
  scale: 'count',
  completions: 'count',
  maxparallel: 'parallelism',
  maxsurge: 'strategy',
  maxunavailable: 'parallelism',
  rollingupdate: 'update',
  minhealthytime: 'minHealthy',
  backofflimit: 'restart',
  retries: 'restart',
  restartpolicy: 'restart',
  rescheduling: 'reschedule',
  mem: 'memory',
  memorymb: 'memory',
  ram: 'memory',
  cpus: 'cpu',
  cores: 'cpu',
  vcpus: 'cpu',
  storage: 'disk',
  ephemeraldisk: 'disk',
  gpus: 'gpu',
  environment: 'env',
  envvars: 'env',
  cmd: 'command',
  args: 'command',
  entrypoint: 'command',
  exec: 'command',
  run: 'script',
  taskgroups: 'groups',
  services: 'groups',
  containers: 'tasks',
  steps: 'tasks',
  precedence: 'priority',
  kind: 'type',
  nodeselector: 'constraints',
  constraint: 'constraints',
  affinity: 'affinities',
  antiaffinity: 'avoid',
  podantiaffinity: 'avoid',
  podaffinity: 'near',
  colocate: 'near',
  timeout: 'deadline',
  activedeadlineseconds: 'deadline',
  killtimeout: 'stop',
  stopgraceperiod: 'stop',
  terminationgraceperiodseconds: 'stop',
  killsignal: 'stop',
  stopsignal: 'stop',
  port: 'ports',
  tags: 'labels',
  meta: 'labels',
  annotations: 'labels',
  requests: 'resources',
  limit: 'limits',
  maxpids: 'pids',
  pidslimit: 'pids',
  memorymax: 'memory',
  template: 'endpoints',
  templates: 'endpoints',
  upstreams: 'endpoints',
  health: 'checks',
  healthcheck: 'checks',
  check: 'checks',
  readinessprobe: 'checks',
  livenessprobe: 'checks',
  startupprobe: 'checks',
  periodseconds: 'interval',
  timeoutseconds: 'timeout',
  initialdelayseconds: 'startPeriod',
  interval: 'window',
  mode: 'on',
  delaymax: 'maxDelay',
  max_delay: 'maxDelay',
};

/** Keys that are planned, or refused for good. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  replaceAfter: 'write reschedule: { onHostLost: true } to replace what ran on a lost host',
  ttlAfterFinished:
    'ended jobs are kept for the time that the monitors are set to (--job-retention); `moorage delete` forgets one at once',
  success: 'a group succeeds when all of its allocations do',
  schedule: 'start it from cron with `moorage run FILE`',
  cron: 'start it from cron with `moorage run FILE`',
  dependsOn: 'run the second file when `moorage wait` has seen the first end',
};

type Level = 'job' | 'group' | 'task';

const HOMES: readonly (readonly [Level, readonly string[], string])[] = [
  ['job', Object.keys(jobFields), 'at the top of the file'],
  ['group', Object.keys(groupFields), 'under groups.<name>'],
  ['task', Object.keys(taskFields), 'under groups.<name>.tasks.<name>'],
];

const RESOURCE_KEYS = ['cpu', 'memory', 'disk', 'gpu', 'scalars', 'shared'];

/** A sentence about a key that has no place where it was written. `known` are the keys that have. */
export function unknownKey(key: string, known: readonly string[]): string {
  const unsupported = Object.keys(UNSUPPORTED).find((name) => name.toLowerCase() === key.toLowerCase());
  if (unsupported !== undefined)
    return `"${key}" is not supported in this version: ${UNSUPPORTED[unsupported] ?? ''}`;
  const unknown = `unknown key "${key}"`;
  const synonym = Object.hasOwn(SYNONYMS, plain(key)) ? SYNONYMS[plain(key)] : undefined;
  if (synonym !== undefined && known.includes(synonym)) return `${unknown}; did you mean "${synonym}"?`;
  const meant = synonym ?? key;
  if (RESOURCE_KEYS.includes(meant)) return `${unknown}; did you mean "resources.${meant}"?`;
  const home = HOMES.find(([, keys]) => keys.includes(meant));
  if (home !== undefined) return `${unknown} here; "${meant}" belongs to the ${home[0]}: write it ${home[2]}`;
  const near = nearest(key, known);
  if (near !== null) return `${unknown}; did you mean "${near}"?`;
  const everywhere = HOMES.flatMap(([, keys]) => keys);
  return unknown + (didYouMean(key, everywhere) || `; known here: ${known.join(', ')}`);
}

function plain(key: string): string {
  return key.toLowerCase().replaceAll(/[-_]/g, '');
}
