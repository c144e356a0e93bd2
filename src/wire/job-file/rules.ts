import { GROUP_SECRETS_MAX } from '../../core/access/secret.ts';
import { DEFAULT_NAMESPACE } from '../../core/cell/ids.ts';
import { DEFAULT_ON_RETURN } from '../../core/cell/job.ts';
import type { JobType } from '../../core/cell/job.ts';
import { plainAttribute } from '../../core/host/attributes.ts';
import { SELF_FENCE } from '../../core/host/fences.ts';
import { NAME_CHARS_MAX, nameText, readName } from '../../core/names/names.ts';
import { DEFAULT_RESOURCES, DEFAULT_TYPE } from './defaults.ts';
import type { GroupFile, LongFile, TaskFile } from './job-schema.ts';
import { rangeOf } from './job-schema.ts';
import type { RuleFault } from './problems.ts';
import { checkVolumes } from './volume-rules.ts';
import { GANG_COUNT_MAX } from '../values/bounds.ts';
import { formatCpu, formatMib } from '../values/units.ts';

/** Rules between fields. */
export function checkRules(file: LongFile): RuleFault[] {
  const faults: RuleFault[] = [];
  const type = file.type ?? DEFAULT_TYPE;
  for (const [name, group] of Object.entries(file.groups)) {
    const at = ['groups', name];
    if (type === 'system') faults.push(...checkSystem(at, group));
    faults.push(...checkSpread(at, group), ...checkNames(at, group, { file, name }));
    faults.push(...checkRange(at, group, type), ...checkNear(at, group));
    faults.push(...checkCounts(at, group), ...checkPorts(at, group), ...checkTasks(at, group));
    faults.push(...checkSecrets(at, group), ...checkVolumes(at, group, type));
    faults.push(...checkEndpoints(at, group, file.namespace ?? DEFAULT_NAMESPACE));
    faults.push(...checkUpdate(at, group, type), ...checkReturn(at, group, type));
    faults.push(...checkRequest(at, group, type), ...checkDisconnect(at, group, type));
    for (const key of ['restart', 'reschedule'] as const) {
      const { delay, maxDelay } = group[key] ?? {};
      if (delay !== undefined && maxDelay !== undefined && maxDelay < delay)
        faults.push({ path: [...at, key, 'maxDelay'], text: 'must not be less than delay' });
    }
  }
  return faults;
}

function checkSystem(at: readonly string[], group: GroupFile): RuleFault[] {
  const keys = (['count', 'parallelism', 'gang', 'distinct', 'spread', 'near'] as const).filter(
    (key) => group[key] !== undefined,
  );
  return keys.map((key) => ({
    path: [...at, key],
    text: 'a system job has one allocation on every matching host; remove this field',
  }));
}

/** A wish that no place fulfils, and one that is written twice. */
function checkNear(at: readonly string[], { near = [], avoid = [] }: GroupFile): RuleFault[] {
  const placeOf = (one: (typeof near | typeof avoid)[number]): string =>
    'over' in one && one.over !== undefined ? plainAttribute(one.over) : 'id';
  return near.flatMap((one, n): RuleFault[] => {
    const place = placeOf(one);
    const path = [...at, 'near', String(n)];
    const isSame = (other: (typeof near)[number]): boolean =>
      other.class === one.class && placeOf(other) === place;
    if (near.findIndex(isSame) < n) return [{ path, text: `near ${one.class} is said twice; remove one` }];
    const isAvoided = avoid.some(
      (other) => other.class === one.class && (place === 'id' || placeOf(other) === place),
    );
    return isAvoided ? [{ path, text: `avoid keeps it from ${one.class} there; remove one of the two` }] : [];
  });
}

function checkUpdate(
  at: readonly string[],
  { update, gang, ...group }: GroupFile,
  type: JobType,
): RuleFault[] {
  if (update === undefined) return [];
  const count = rangeOf(group).min;
  const fault = (key: keyof typeof update, text: string): RuleFault[] =>
    update[key] === undefined ? [] : [{ path: [...at, 'update', key], text }];
  const beside = (text: string): RuleFault[] => [
    ...fault('canary', text),
    ...(update.strategy === 'start-first' ? fault('strategy', text) : []),
  ];
  const { canary = 0, healthyDeadline, progressDeadline, autoPromote } = update;
  return [
    ...(type === 'system'
      ? beside('a system job has one allocation on every matching host, and no room beside it')
      : []),
    ...(type === 'batch' ? beside('a batch job is not updated one by one; remove this field') : []),
    ...(gang === true ? beside('a gang starts whole; remove this field, or gang') : []),
    ...(canary > count ? fault('canary', `more than count, which is ${String(count)}`) : []),
    ...(autoPromote !== undefined && canary === 0
      ? fault('autoPromote', 'needs canary: there is nothing to promote')
      : []),
    ...(healthyDeadline !== undefined && progressDeadline !== undefined && progressDeadline < healthyDeadline
      ? fault('progressDeadline', 'must not be less than healthyDeadline')
      : []),
    ...(healthyDeadline !== undefined && (update.minHealthy ?? 0) >= healthyDeadline
      ? fault('healthyDeadline', 'must be more than minHealthy, or nothing is ever up in time')
      : []),
  ];
}

/** What is kept of two that run takes that both may run, and that they are alike. */
function checkReturn(
  at: readonly string[],
  { reschedule, gang, volumes, disconnect }: GroupFile,
  type: JobType,
): RuleFault[] {
  const onReturn = reschedule?.onReturn ?? DEFAULT_ON_RETURN;
  if (onReturn === DEFAULT_ON_RETURN) return [];
  const contradictions: readonly (readonly [boolean, string])[] = [
    [
      reschedule?.onHostLost !== true,
      'nothing is replaced that could be kept: write onHostLost: true too, or remove this field',
    ],
    [type === 'system', 'a system job is not replaced on other hosts; remove this field'],
    [gang === true, 'a gang is kept or begun again as a whole; remove this field, or gang'],
    [volumes !== undefined, 'two of them have different data; remove this field, or the volumes'],
    [disconnect !== undefined, 'disconnect has ended it by then; remove one of the two'],
  ];
  const path = [...at, 'reschedule', 'onReturn'];
  return contradictions.filter(([holds]) => holds).map(([, text]) => ({ path, text }));
}

/** A fence is for what is replaced. */
function checkDisconnect(
  at: readonly string[],
  { disconnect, reschedule }: GroupFile,
  type: JobType,
): RuleFault[] {
  if (disconnect === undefined) return [];
  const { stopAfter, fence } = disconnect;
  const path = [...at, 'disconnect'];
  if (fence === undefined)
    return stopAfter === undefined
      ? [{ path, text: 'says nothing: write stopAfter, or fence, or remove it' }]
      : [];
  const contradictions: readonly (readonly [boolean, string])[] = [
    [type === 'system', 'a system job is not replaced on other hosts; remove this field'],
    [
      type !== 'system' && reschedule?.onHostLost !== true,
      'nothing is replaced that would wait: write reschedule: { onHostLost: true } too, or remove this field',
    ],
    [
      [fence].flat().includes(SELF_FENCE) && stopAfter === undefined,
      'self needs stopAfter: the time after which its host ends it',
    ],
  ];
  return contradictions.filter(([holds]) => holds).map(([, text]) => ({ path: [...path, 'fence'], text }));
}

/** What no request can move does not say that one does. */
function checkRequest(at: readonly string[], { reschedule, gang }: GroupFile, type: JobType): RuleFault[] {
  if (reschedule?.onRequest !== true) return [];
  const contradictions: readonly (readonly [boolean, string])[] = [
    [type === 'system', 'a system job has one allocation on every matching host; remove this field'],
    [type === 'batch', 'a batch task would begin again from its start; remove this field'],
    [gang === true, 'a gang would begin again as a whole; remove this field, or gang'],
  ];
  const path = [...at, 'reschedule', 'onRequest'];
  return contradictions.filter(([holds]) => holds).map(([, text]) => ({ path, text }));
}

/** Each port of a group has a name in DNS. */
function checkNames(
  at: readonly string[],
  { ports = {} }: GroupFile,
  { file, name: group }: { readonly file: LongFile; readonly name: string },
): RuleFault[] {
  return Object.keys(ports).flatMap((port) => {
    const name = nameText({ port, group, job: file.name, namespace: file.namespace ?? DEFAULT_NAMESPACE });
    if (name.length <= NAME_CHARS_MAX) return [];
    const text = `its name (port, group, job and namespace) has ${String(name.length)} characters; ${String(NAME_CHARS_MAX)} at most have room in DNS`;
    return [{ path: [...at, 'ports', port], text }];
  });
}

function checkSpread(at: readonly string[], { spread = [] }: GroupFile): RuleFault[] {
  return spread.flatMap(({ by, targets }, number) =>
    targets !== undefined && plainAttribute(by) === 'id'
      ? [
          {
            path: [...at, 'spread', number, 'targets'],
            text: 'single hosts have no targets; remove this field',
          },
        ]
      : [],
  );
}

/** What may grow may also lose what has grown: only for work that a number of like workers share. */
function checkRange(at: readonly string[], group: GroupFile, type: JobType): RuleFault[] {
  if (typeof group.count !== 'object') return [];
  const { min, max } = group.count;
  const faults: RuleFault[] = [];
  const fault = (path: readonly string[], text: string): void =>
    void faults.push({ path: [...at, ...path], text });
  if (min > max) fault(['count', 'min'], `more than max, which is ${String(max)}`);
  if (type === 'service')
    fault(
      ['count'],
      'a service does not grow into idle capacity, since what is taken back would be missed: write a number, or type: batch',
    );
  if (group.gang === true)
    fault(['gang'], 'a gang starts whole; remove this field, or write count as a number');
  if (group.parallelism !== undefined)
    fault(
      ['parallelism'],
      'min and max say how many run at once; remove this field, or write count as a number',
    );
  return faults;
}

function checkCounts(at: readonly string[], group: GroupFile): RuleFault[] {
  if (typeof group.count === 'object') return [];
  const count = group.count ?? 1;
  const faults: RuleFault[] = [];
  if (group.gang === true && count > GANG_COUNT_MAX)
    faults.push({
      path: [...at, 'count'],
      text: `a gang has at most ${String(GANG_COUNT_MAX)} members`,
    });
  if (group.parallelism === undefined) return faults;
  const path = [...at, 'parallelism'];
  if (group.parallelism > count) faults.push({ path, text: `more than count, which is ${String(count)}` });
  else if (group.gang === true && group.parallelism < count)
    faults.push({ path, text: 'a gang runs all at once; remove gang or parallelism' });
  return faults;
}

function checkPorts(at: readonly string[], group: GroupFile): RuleFault[] {
  const faults: RuleFault[] = [];
  const seen = new Map<number, string>();
  for (const [label, port] of Object.entries(group.ports ?? {})) {
    if (port === 0) continue;
    const other = seen.get(port);
    if (other !== undefined)
      faults.push({
        path: [...at, 'ports', label],
        text: `port ${String(port)} is already that of "${other}"`,
      });
    seen.set(port, label);
  }
  return faults;
}

function checkTasks(at: readonly string[], group: GroupFile): RuleFault[] {
  const faults: RuleFault[] = [];
  let gpuTask: string | null = null;
  for (const [name, task] of Object.entries(group.tasks)) {
    const path = [...at, 'tasks', name];
    faults.push(...checkCommand(path, task), ...checkLimits(path, task), ...checkDriver(path, task, group));
    for (const [check, file] of Object.entries(task.checks ?? {}))
      faults.push(...checkProbe([...path, 'checks', check], file, Object.keys(group.ports ?? {})));
    if (task.resources?.gpu === undefined) continue;
    if (gpuTask !== null)
      faults.push({
        path: [...path, 'resources', 'gpu'],
        text: `only one task of a group may ask for GPUs, and "${gpuTask}" does`,
      });
    gpuTask = name;
  }
  if (Object.values(group.tasks).every((task) => task.sidecar === true))
    faults.push({ path: [...at, 'tasks'], text: 'all tasks are sidecars; one must decide the outcome' });
  return faults;
}

function checkCommand(path: readonly string[], task: TaskFile): RuleFault[] {
  if (task.command !== undefined && task.script !== undefined)
    return [{ path: [...path, 'script'], text: 'write either command or script, not both' }];
  if (task.command === undefined && task.script === undefined)
    return [{ path, text: 'needs a command, such as [echo, hello], or a script' }];
  return [];
}

type CheckFile = NonNullable<TaskFile['checks']>[string];

/** A health check asks in one way, and at a port that there is. */
function checkProbe(path: readonly string[], file: CheckFile, ports: readonly string[]): RuleFault[] {
  const ways = (['http', 'tcp', 'command', 'file'] as const).filter((key) => file[key] !== undefined);
  if (ways.length !== 1)
    return [
      { path, text: 'needs one of http, tcp, command and file, such as { http: /readyz, port: http }' },
    ];
  if (file.port !== undefined && file.http === undefined)
    return [
      { path: [...path, 'port'], text: 'only a check with http has a port beside it; remove this field' },
    ];
  const label = file.http === undefined ? file.tcp : (file.port ?? ports[0]);
  const at = [...path, file.port === undefined ? (ways[0] ?? '') : 'port'];
  if (file.http !== undefined && file.port === undefined && ports.length !== 1)
    return [
      { path: at, text: `the group has ${String(ports.length)} ports: write which, such as port: http` },
    ];
  if (label !== undefined && !ports.includes(label))
    return [{ path: at, text: `the group has no port "${label}"; its ports: ${ports.join(', ') || 'none'}` }];
  return [];
}

/** A limit below the request would waste the rest of the request, which is allocated and never used. */
function checkLimits(path: readonly string[], { limits, resources }: TaskFile): RuleFault[] {
  const faults: RuleFault[] = [];
  const memory = resources?.memory ?? DEFAULT_RESOURCES.memoryMib;
  const cpu = resources?.cpu ?? DEFAULT_RESOURCES.cpuMilli;
  if (limits?.memory !== undefined && limits.memory < memory)
    faults.push({
      path: [...path, 'limits', 'memory'],
      text: `less than resources.memory, which is ${formatMib(memory)}`,
    });
  if (limits?.cpu !== undefined && limits.cpu < cpu)
    faults.push({
      path: [...path, 'limits', 'cpu'],
      text: `less than resources.cpu, which is ${formatCpu(cpu)}`,
    });
  return faults;
}

/** Tasks see the names of their own namespace. Those of a group have one working folder. */
function checkEndpoints(at: readonly string[], { tasks }: GroupFile, namespace: string): RuleFault[] {
  const faults: RuleFault[] = [];
  const files = new Map<string, string>();
  for (const [task, { endpoints = [], env = {}, checks = {} }] of Object.entries(tasks)) {
    const variables = new Set(Object.keys(env));
    for (const { file } of Object.values(checks)) if (file !== undefined) files.set(file, 'a check');
    for (const [number, one] of endpoints.entries()) {
      const fault = (key: string, text: string): void =>
        void faults.push({ path: [...at, 'tasks', task, 'endpoints', number, key], text });
      const [port = '', group = '', job = '', other, more] = one.name.toLowerCase().split('.');
      if (more !== undefined || readName(`${port}.${group}.${job}.${namespace}`) === null)
        fault('name', `"${one.name}" is no name: write PORT.GROUP.JOB, such as http.web.shop`);
      else if (other !== undefined && other !== namespace)
        fault('name', `a task sees names of its own namespace, ${namespace}; ask for others over DNS`);
      if (one.env === undefined && one.file === undefined)
        fault('name', 'needs env or file, such as file: web.txt');
      if (one.onChange !== undefined && one.file === undefined)
        fault('onChange', 'needs file: variables of a process do not change');
      if (one.env !== undefined && variables.has(one.env))
        fault('env', `the task has a variable ${one.env} already`);
      if (one.env?.startsWith('MOORAGE_') === true) fault('env', 'names with MOORAGE_ are set by the host');
      if (one.env !== undefined) variables.add(one.env);
      const by = one.file === undefined ? undefined : files.get(one.file);
      if (by !== undefined) fault('file', `${by} of the group has the file ${one.file ?? ''} already`);
      if (one.file !== undefined) files.set(one.file, 'another name');
    }
  }
  return faults;
}

/** They are sent with the order to start their group. */
function checkSecrets(at: readonly string[], { tasks }: GroupFile): RuleFault[] {
  const faults: RuleFault[] = [];
  const used = new Set<string>();
  for (const [name, { secrets = [], user }] of Object.entries(tasks)) {
    const path = [...at, 'tasks', name, 'secrets'];
    for (const secret of secrets) used.add(secret);
    if (used.size > GROUP_SECRETS_MAX)
      faults.push({ path, text: `a group uses at most ${String(GROUP_SECRETS_MAX)} secrets` });
    if (secrets.length > 0 && user === 'agent')
      faults.push({ path, text: 'only a user of its own keeps a secret; remove the field user' });
  }
  return faults;
}

function checkDriver(path: readonly string[], task: TaskFile, group: GroupFile): RuleFault[] {
  if (task.driver === 'oci' && task.image === undefined)
    return [{ path, text: 'the driver oci needs an image' }];
  if (task.driver !== 'oci' && task.image !== undefined)
    return [{ path: [...path, 'image'], text: 'only the driver oci runs images: write driver: oci' }];
  const plain = (task.driver ?? 'exec') === 'exec';
  if (plain && task.network !== undefined)
    return [
      { path: [...path, 'network'], text: 'a plain process has the network of its host; remove this field' },
    ];
  const user = checkUser([...path, 'user'], task, group);
  if (user !== null) return [user];
  const alone = Object.keys(group.tasks).length === 1;
  if (!plain && task.network !== 'host' && alone && Object.keys(group.ports ?? {}).length > 0)
    return [{ path, text: 'has ports, and nobody could reach them: write network: host' }];
  return [];
}

/** Tasks of a group share their working folder, which is either root's or their common user's. */
function checkUser(path: readonly string[], { driver, user }: TaskFile, group: GroupFile): RuleFault | null {
  const plain = (driver ?? 'exec') === 'exec';
  if (!plain && user === 'agent')
    return { path, text: 'only a plain process runs as a user of its host; remove this field' };
  if (plain && user === 'root')
    return { path, text: 'only a sandbox or an image has a root of its own: write driver: sandbox or oci' };
  if (user === 'root' && Object.values(group.tasks).some((other) => other.user !== 'root'))
    return { path, text: 'the other tasks of its group share its folder: write user: root for all of them' };
  return null;
}
