import { DEFAULT_NAMESPACE } from '../../core/cell/ids.ts';
import { DEFAULT_ON_RETURN } from '../../core/cell/job.ts';
import type { Avoided, Near } from '../../core/cell/interference.ts';
import type {
  Check,
  CheckProbe,
  Expression,
  Group,
  Job,
  JobType,
  Task,
  TaskDriverName,
  TaskLimits,
  UpdatePolicy,
  UsedName,
} from '../../core/cell/job.ts';
import type { GpuRequest, Resources } from '../../core/cell/resources.ts';
import { GPU_MILLI_PER_DEVICE, NO_SCALARS } from '../../core/cell/resources.ts';
import type { Allowance } from '../../core/host/allowances.ts';
import type { Mount } from '../../core/cell/volume.ts';
import { KEEPS_VOLUMES, volumeAttribute, volumeDriverAttribute } from '../../core/cell/volume.ts';
import { KEEPS_SECRETS } from '../../core/host/attributes.ts';
import { allowanceAttribute, ALLOWED_UNTOLD, neededBy } from '../../core/host/allowances.ts';
import {
  DEFAULT_CHECK,
  DEFAULT_PRECEDENCE,
  DEFAULT_RESCHEDULE,
  DEFAULT_RESOURCES,
  DEFAULT_RESTART,
  DEFAULT_STOP,
  DEFAULT_TYPE,
  DEFAULT_WEIGHT,
} from './defaults.ts';
import type { GroupFile, LongFile, ShortFile, TaskFile } from './job-schema.ts';
import { rangeOf } from './job-schema.ts';

/** Fills in every default: from the checked file to the canonical job. */
export function buildJob(file: LongFile): Job {
  const { type = DEFAULT_TYPE, namespace = DEFAULT_NAMESPACE } = file;
  const groups = mapValues(file.groups, (group, name) => buildGroup(name, group, { type, namespace }));
  return {
    namespace,
    name: file.name,
    type,
    precedence: file.priority ?? DEFAULT_PRECEDENCE,
    scheduler: schedulerOf(file, groups),
    labels: file.labels ?? {},
    groups,
    oneOff: file.oneOff ?? false,
  };
}

/** Unless another kind is named, what may grow goes to the kind that grows it; any other kind runs the minimum. */
function schedulerOf(
  { scheduler = 'auto' }: LongFile,
  groups: Readonly<Record<string, Group>>,
): Job['scheduler'] {
  const mayGrow = Object.values(groups).some(({ countMax }) => countMax !== undefined);
  return scheduler === 'auto' && mayGrow ? 'elastic' : scheduler;
}

/** The short form written out: group and task take the job's name. */
export function lengthen(file: ShortFile): LongFile {
  const { name, namespace, type, priority, scheduler, labels, oneOff, ...rest } = file;
  const { command, script, env, resources, driver, network, user, ...other } = rest;
  const { endpoints, secrets, image, artifacts, mounts, limits, checks, stop, ...more } = other;
  const { stdin, terminal, sidecar, ...group } = more;
  const run = { command, script, env, resources, driver, network, user };
  const task = {
    ...run,
    endpoints,
    secrets,
    image,
    artifacts,
    mounts,
    limits,
    checks,
    stop,
    stdin,
    terminal,
    sidecar,
  };
  return {
    ...{ name, namespace, type, priority, scheduler, labels, oneOff },
    groups: { [name]: { ...group, tasks: { [name]: task } } },
  };
}

function buildGroup(
  name: string,
  file: GroupFile,
  { type, namespace }: { readonly type: JobType; readonly namespace: string },
): Group {
  const restart = DEFAULT_RESTART[type];
  const reschedule = DEFAULT_RESCHEDULE[type];
  const { attempts, onReturn } = file.reschedule ?? {};
  const delayMs = file.reschedule?.delay ?? reschedule.delayMs;
  const { min, max } = rangeOf(file);
  return {
    name,
    count: min,
    ...(max === min ? {} : { countMax: max }),
    parallelism: file.parallelism ?? null,
    gang: file.gang ?? false,
    ports: file.ports ?? {},
    constraints: [...(file.constraints ?? []), ...hostConstraints(file, namespace)],
    affinities: (file.affinities ?? []).map((item) => ({
      expression: item.expr,
      weight: item.weight ?? DEFAULT_WEIGHT,
    })),
    spread: (file.spread ?? []).map((item) => ({
      attribute: item.by,
      weight: item.weight ?? DEFAULT_WEIGHT,
      ...(item.targets === undefined ? {} : { targets: item.targets }),
    })),
    distinct: file.distinct ?? [],
    ...(file.class === undefined ? {} : { class: file.class }),
    ...buildAvoid(file),
    ...buildNear(file),
    tasks: mapValues(file.tasks, (task, taskName) =>
      buildTask(taskName, task, Object.keys(file.ports ?? {})),
    ),
    restart: {
      attempts: file.restart?.attempts ?? restart.attempts,
      windowMs: file.restart?.window ?? restart.windowMs,
      delayMs: file.restart?.delay ?? restart.delayMs,
      ...(file.restart?.maxDelay === undefined ? {} : { delayMaxMs: file.restart.maxDelay }),
      on: file.restart?.on ?? restart.on,
    },
    reschedule: {
      attempts: attempts === 'unlimited' ? null : (attempts ?? reschedule.attempts),
      delayMs,
      // A first delay that was written longer than the default bound lifts the bound with it.
      delayMaxMs: file.reschedule?.maxDelay ?? Math.max(reschedule.delayMaxMs, delayMs),
      onHostLost: file.reschedule?.onHostLost ?? reschedule.onHostLost,
      ...(onReturn === undefined || onReturn === DEFAULT_ON_RETURN ? {} : { onReturn }),
      ...(file.reschedule?.onDrain === false ? { onDrain: false } : {}),
      ...(file.reschedule?.onRequest === undefined ? {} : { onRequest: file.reschedule.onRequest }),
    },
    deadlineMs: file.deadline ?? null,
    ...buildDisconnect(file),
    ...(file.shutdownDelay === undefined ? {} : { shutdownDelayMs: file.shutdownDelay }),
    ...(file.update?.minHealthy === undefined ? {} : { minHealthyMs: file.update.minHealthy }),
    ...buildUpdate(file.update),
    waitMaxMs: file.waitMax ?? null,
    ...buildVolumes(file),
  };
}

/** Each once, and what is avoided over single hosts without that word. */
function buildAvoid({ avoid = [] }: GroupFile): Pick<Group, 'avoid'> {
  const all = avoid.map(({ class: name, ...of }): Avoided => {
    const over = 'over' in of ? of.over : undefined;
    return over === undefined || over === 'id' ? { class: name } : { class: name, over };
  });
  const each = new Map(all.map((one) => [`${one.class} ${one.over ?? ''}`, one]));
  return each.size === 0 ? {} : { avoid: [...each.values()] };
}

/** The rules have seen that none is there twice. */
function buildNear({ near = [] }: GroupFile): Pick<Group, 'near'> {
  const all = near.map(({ class: name, ...of }): Near => {
    const over = 'over' in of && of.over !== 'id' ? of.over : undefined;
    const weight = ('weight' in of ? of.weight : undefined) ?? DEFAULT_WEIGHT;
    return { class: name, ...(over === undefined ? {} : { over }), weight };
  });
  return all.length === 0 ? {} : { near: all };
}

/** What is not written stays open: its default may be another one in a later version. */
function buildUpdate(file: GroupFile['update']): Pick<Group, 'update'> {
  if (file === undefined) return {};
  const { healthyDeadline, progressDeadline, minHealthy: _other, ...same } = file;
  const update: UpdatePolicy = {
    ...Object.fromEntries(Object.entries(same).filter(([, value]) => value !== undefined)),
    ...(healthyDeadline === undefined ? {} : { healthyDeadlineMs: healthyDeadline }),
    ...(progressDeadline === undefined ? {} : { progressDeadlineMs: progressDeadline }),
  };
  return Object.keys(update).length === 0 ? {} : { update };
}

function buildDisconnect({
  disconnect: { stopAfter, fence } = {},
}: GroupFile): Pick<Group, 'stopAfterDisconnectMs' | 'fences'> {
  return {
    ...(stopAfter === undefined ? {} : { stopAfterDisconnectMs: stopAfter }),
    ...(fence === undefined ? {} : { fences: [...new Set([fence].flat())] }),
  };
}

function buildVolumes({ volumes = {} }: GroupFile): Pick<Group, 'volumes'> {
  if (Object.keys(volumes).length === 0) return {};
  return {
    volumes: mapValues(volumes, ({ claim, source, access, readOnly, onLoss, driver, size, forceDetach }) => ({
      ...(claim === undefined ? {} : { claim }),
      ...(source === undefined ? {} : { source }),
      access: access ?? 'exclusive',
      ...(readOnly === true ? { readOnly } : {}),
      onLoss: onLoss ?? 'keep',
      ...(driver === undefined ? {} : { driver }),
      ...(size === undefined ? {} : { sizeMib: size }),
      ...(forceDetach === true ? { forceDetach } : {}),
    })),
  };
}

/** Constraints on hosts that have the tasks' drivers and allow what they ask, unless the author wrote them. */
function hostConstraints(file: GroupFile, namespace: string): Expression[] {
  const written = new Set((file.constraints ?? []).map((expression) => expression.text));
  const tasks = Object.values(file.tasks);
  const drivers = new Set(tasks.map((task) => task.driver ?? 'exec'));
  drivers.delete('exec');
  const secret = tasks.some(({ secrets }) => secrets !== undefined);
  return [
    ...[...drivers].sort().map(driverConstraint),
    ...(secret ? [existsConstraint(KEEPS_SECRETS)] : []),
    ...neededBy(tasks, namespace).map(allowanceConstraint),
    ...volumeConstraints(file),
  ].filter(({ text }) => !written.has(text));
}

/** A folder of its own takes a host that keeps such; an announced volume one that announces it, for writing if need be. */
function volumeConstraints({ volumes = {} }: GroupFile): Expression[] {
  if (Object.keys(volumes).length === 0) return [];
  const announced = Object.values(volumes).flatMap(({ source, readOnly, driver }) => {
    if (driver !== undefined) return [existsConstraint(volumeDriverAttribute(driver))];
    if (source === undefined) return [];
    const attribute = volumeAttribute(source);
    if (readOnly === true) return [existsConstraint(attribute)];
    return [{ attribute, operator: '==' as const, value: 'rw', text: `host.${attribute} == rw` }];
  });
  return [existsConstraint(KEEPS_VOLUMES), ...announced];
}

function driverConstraint(driver: TaskDriverName): Expression {
  return existsConstraint(`driver.${driver}`);
}

function existsConstraint(attribute: string): Expression {
  return { attribute, operator: 'exists', value: '', text: `host.${attribute} exists` };
}

function allowanceConstraint(allowance: Allowance): Expression {
  const attribute = allowanceAttribute(allowance);
  const [operator, value] = ALLOWED_UNTOLD.includes(allowance)
    ? (['!=', 'false'] as const)
    : (['==', 'true'] as const);
  return { attribute, operator, value, text: `host.${attribute} ${operator} ${value}` };
}

function buildTask(name: string, file: TaskFile, ports: readonly string[]): Task {
  const checks = mapValues(file.checks ?? {}, (check) => buildCheck(check, ports));
  const limits = buildLimits(file.limits ?? {});
  const shared = file.resources?.shared ?? {};
  const artifacts = mapValues(file.artifacts ?? {}, ({ source, sha256, unpack = false }) => ({
    ...{ source, sha256, unpack },
  }));
  return {
    name,
    command: file.command ?? ['/bin/sh', '-c', file.script ?? ''],
    env: file.env ?? {},
    resources: buildResources(file.resources),
    gpu: buildGpu(file.resources?.gpu),
    ...(Object.keys(shared).length === 0 ? {} : { shared }),
    ...(file.driver === undefined || file.driver === 'exec' ? {} : { driver: file.driver }),
    ...(file.network === undefined ? {} : { network: file.network }),
    ...(file.user === undefined ? {} : { user: file.user }),
    ...(file.endpoints === undefined ? {} : { endpoints: file.endpoints.map(buildUsedName) }),
    ...(file.secrets === undefined ? {} : { secrets: file.secrets }),
    ...(file.image === undefined ? {} : { image: { ...file.image, unpack: true } }),
    ...(Object.keys(artifacts).length === 0 ? {} : { artifacts }),
    ...(file.mounts === undefined || Object.keys(file.mounts).length === 0
      ? {}
      : { mounts: mapValues(file.mounts, buildMount) }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(checks).length === 0 ? {} : { checks }),
    stop: {
      signal: file.stop?.signal ?? DEFAULT_STOP.signal,
      graceMs: file.stop?.grace ?? DEFAULT_STOP.graceMs,
    },
    sidecar: file.sidecar ?? false,
    ...(file.stdin === true ? { stdin: true } : {}),
    ...(file.terminal === true ? { terminal: true } : {}),
  };
}

/** The rules have seen that a fourth part is the job's own namespace. */
function buildUsedName({ name, env, file, onChange }: NonNullable<TaskFile['endpoints']>[number]): UsedName {
  return {
    name: name.toLowerCase().split('.').slice(0, 3).join('.'),
    ...(env === undefined ? {} : { env }),
    ...(file === undefined ? {} : { file }),
    ...(onChange === undefined ? {} : { onChange }),
  };
}

function buildMount({ path, readOnly }: NonNullable<TaskFile['mounts']>[string]): Mount {
  return { ...(path === undefined ? {} : { path }), ...(readOnly === true ? { readOnly } : {}) };
}

type CheckFile = NonNullable<TaskFile['checks']>[string];

function buildCheck(file: CheckFile, ports: readonly string[]): Check {
  return {
    probe: buildProbe(file, ports),
    purpose: file.for ?? 'ready',
    intervalMs: file.interval ?? DEFAULT_CHECK.intervalMs,
    timeoutMs: file.timeout ?? DEFAULT_CHECK.timeoutMs,
    successThreshold: file.successThreshold ?? DEFAULT_CHECK.successThreshold,
    failureThreshold: file.failureThreshold ?? DEFAULT_CHECK.failureThreshold,
    startPeriodMs: file.startPeriod ?? DEFAULT_CHECK.startPeriodMs,
  };
}

/** The rules have seen that it says one of them. */
function buildProbe(
  { http, port, tcp, command, file = '' }: CheckFile,
  [only = '']: readonly string[],
): CheckProbe {
  if (http !== undefined) return { kind: 'http', port: port ?? only, path: http };
  if (tcp !== undefined) return { kind: 'tcp', port: tcp };
  return command === undefined ? { kind: 'file', file } : { kind: 'command', command };
}

function buildLimits(file: NonNullable<TaskFile['limits']>): TaskLimits {
  const { memory, cpu, pids, read, write } = file;
  return {
    ...(memory === undefined ? {} : { memoryMib: memory }),
    ...(cpu === undefined ? {} : { cpuMilli: cpu }),
    ...(pids === undefined ? {} : { pids }),
    ...(read === undefined ? {} : { readMib: read }),
    ...(write === undefined ? {} : { writeMib: write }),
  };
}

function buildResources(file: TaskFile['resources']): Resources {
  const scalars = file?.scalars;
  return {
    cpuMilli: file?.cpu ?? DEFAULT_RESOURCES.cpuMilli,
    memoryMib: file?.memory ?? DEFAULT_RESOURCES.memoryMib,
    diskMib: file?.disk ?? DEFAULT_RESOURCES.diskMib,
    scalars: scalars === undefined || Object.keys(scalars).length === 0 ? NO_SCALARS : scalars,
  };
}

function buildGpu(file: NonNullable<TaskFile['resources']>['gpu']): GpuRequest | null {
  if (file === undefined) return null;
  const share = 'share' in file ? file.share : undefined;
  const models = 'models' in file ? file.models : undefined;
  return {
    count: file.count ?? 1,
    milliEach: share ?? GPU_MILLI_PER_DEVICE,
    // The traces name a model twice at times; twice means no more than once.
    models: [...new Set(models ?? [])],
  };
}

function mapValues<A, B>(
  map: Readonly<Record<string, A>>,
  make: (value: A, key: string) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, make(value, key)]));
}
