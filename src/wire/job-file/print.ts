import { DEFAULT_NAMESPACE } from '../../core/cell/ids.ts';
import type { Check, CheckProbe, Group, Job, Task, TaskLimits } from '../../core/cell/job.ts';
import type { Volume } from '../../core/cell/volume.ts';
import { GPU_MILLI_PER_DEVICE } from '../../core/cell/resources.ts';
import { formatAttribute } from './expression.ts';
import { formatCpu, formatDuration, formatMib, formatShare } from '../values/units.ts';

/**
 * The job as a file's value, every default written out; reading it again gives an equal job. So the output of
 * `status -o yaml` can be submitted unchanged.
 */
export function jobToFile(job: Job): Record<string, unknown> {
  return {
    name: job.name,
    ...(job.namespace === DEFAULT_NAMESPACE ? {} : { namespace: job.namespace }),
    type: job.type,
    priority: job.precedence,
    ...(job.scheduler === 'auto' ? {} : { scheduler: job.scheduler }),
    ...unlessEmpty('labels', job.labels),
    ...(job.oneOff ? { oneOff: true } : {}),
    groups: mapValues(job.groups, (group) => groupToFile(group, job.type === 'system')),
  };
}

function groupToFile(group: Group, system: boolean): Record<string, unknown> {
  return {
    ...(system ? {} : { count: countToFile(group) }),
    ...(group.parallelism === null ? {} : { parallelism: group.parallelism }),
    ...(group.gang ? { gang: true } : {}),
    ...unlessEmpty(
      'ports',
      mapValues(group.ports, (port) => (port === 0 ? 'auto' : port)),
    ),
    ...unlessEmpty(
      'constraints',
      group.constraints.map((expression) => expression.text),
    ),
    ...unlessEmpty(
      'affinities',
      group.affinities.map(({ expression, weight }) => ({ expr: expression.text, weight })),
    ),
    ...unlessEmpty(
      'spread',
      group.spread.map(({ attribute, weight, targets }) => ({
        ...{ by: formatAttribute(attribute), weight },
        ...(targets === undefined ? {} : { targets }),
      })),
    ),
    ...unlessEmpty('distinct', group.distinct.map(formatAttribute)),
    ...(group.class === undefined ? {} : { class: group.class }),
    ...unlessEmpty(
      'avoid',
      (group.avoid ?? []).map(({ class: name, over }) =>
        over === undefined ? name : { class: name, over: formatAttribute(over) },
      ),
    ),
    ...unlessEmpty(
      'near',
      (group.near ?? []).map(({ class: name, over, weight }) => ({
        ...{ class: name, ...(over === undefined ? {} : { over: formatAttribute(over) }), weight },
      })),
    ),
    tasks: mapValues(group.tasks, taskToFile),
    restart: {
      attempts: group.restart.attempts,
      window: formatDuration(group.restart.windowMs),
      delay: formatDuration(group.restart.delayMs),
      ...(group.restart.delayMaxMs === undefined
        ? {}
        : { maxDelay: formatDuration(group.restart.delayMaxMs) }),
      on: group.restart.on,
    },
    reschedule: {
      attempts: group.reschedule.attempts ?? 'unlimited',
      delay: formatDuration(group.reschedule.delayMs),
      maxDelay: formatDuration(group.reschedule.delayMaxMs),
      onHostLost: group.reschedule.onHostLost,
      ...(group.reschedule.onReturn === undefined ? {} : { onReturn: group.reschedule.onReturn }),
      ...(group.reschedule.onDrain === undefined ? {} : { onDrain: group.reschedule.onDrain }),
      ...(group.reschedule.onRequest === undefined ? {} : { onRequest: group.reschedule.onRequest }),
    },
    ...(group.deadlineMs === null ? {} : { deadline: formatDuration(group.deadlineMs) }),
    ...unlessEmpty('disconnect', disconnectToFile(group)),
    ...(group.shutdownDelayMs === undefined ? {} : { shutdownDelay: formatDuration(group.shutdownDelayMs) }),
    ...unlessEmpty('update', updateToFile(group)),
    ...unlessEmpty('volumes', mapValues(group.volumes ?? {}, volumeToFile)),
    ...(group.waitMaxMs === null ? {} : { waitMax: formatDuration(group.waitMaxMs) }),
  };
}

function volumeToFile({ driver, sizeMib, ...volume }: Volume): Record<string, unknown> {
  return {
    ...volume,
    ...(driver === undefined ? {} : { scope: 'global', driver }),
    ...(sizeMib === undefined ? {} : { size: formatMib(sizeMib) }),
  };
}

function countToFile({ count, countMax }: Group): unknown {
  return countMax === undefined ? count : { min: count, max: countMax };
}

function disconnectToFile({ stopAfterDisconnectMs, fences }: Group): Record<string, unknown> {
  return {
    ...(stopAfterDisconnectMs === undefined ? {} : { stopAfter: formatDuration(stopAfterDisconnectMs) }),
    ...(fences === undefined ? {} : { fence: fences.length === 1 ? fences[0] : fences }),
  };
}

function updateToFile({ minHealthyMs, update = {} }: Group): Record<string, unknown> {
  const { healthyDeadlineMs, progressDeadlineMs, ...same } = update;
  return {
    ...(minHealthyMs === undefined ? {} : { minHealthy: formatDuration(minHealthyMs) }),
    ...same,
    ...(healthyDeadlineMs === undefined ? {} : { healthyDeadline: formatDuration(healthyDeadlineMs) }),
    ...(progressDeadlineMs === undefined ? {} : { progressDeadline: formatDuration(progressDeadlineMs) }),
  };
}

function taskToFile(task: Task): Record<string, unknown> {
  const { cpuMilli, memoryMib, diskMib, scalars } = task.resources;
  return {
    command: task.command,
    ...unlessEmpty('env', task.env),
    resources: {
      cpu: formatCpu(cpuMilli),
      memory: formatMib(memoryMib),
      ...(diskMib === 0 ? {} : { disk: formatMib(diskMib) }),
      ...(task.gpu === null ? {} : { gpu: gpuToFile(task.gpu) }),
      ...unlessEmpty('scalars', scalars),
      ...unlessEmpty('shared', task.shared ?? {}),
    },
    ...(task.driver === undefined ? {} : { driver: task.driver }),
    ...(task.network === undefined ? {} : { network: task.network }),
    ...(task.user === undefined ? {} : { user: task.user }),
    ...(task.endpoints === undefined ? {} : { endpoints: task.endpoints }),
    ...(task.secrets === undefined ? {} : { secrets: task.secrets }),
    ...(task.image === undefined ? {} : { image: { source: task.image.source, sha256: task.image.sha256 } }),
    ...unlessEmpty(
      'artifacts',
      mapValues(task.artifacts ?? {}, ({ source, sha256, unpack }) => ({
        ...{ source, sha256, ...(unpack ? { unpack } : {}) },
      })),
    ),
    ...unlessEmpty('mounts', task.mounts ?? {}),
    ...unlessEmpty('limits', limitsToFile(task.limits ?? {})),
    ...unlessEmpty('checks', mapValues(task.checks ?? {}, checkToFile)),
    stop: { signal: task.stop.signal, grace: formatDuration(task.stop.graceMs) },
    ...(task.sidecar ? { sidecar: true } : {}),
    ...(task.stdin === true ? { stdin: true } : {}),
    ...(task.terminal === true ? { terminal: true } : {}),
  };
}

function checkToFile(check: Check): Record<string, unknown> {
  return {
    ...probeToFile(check.probe),
    ...(check.purpose === 'ready' ? {} : { for: check.purpose }),
    interval: formatDuration(check.intervalMs),
    timeout: formatDuration(check.timeoutMs),
    successThreshold: check.successThreshold,
    failureThreshold: check.failureThreshold,
    ...(check.startPeriodMs === 0 ? {} : { startPeriod: formatDuration(check.startPeriodMs) }),
  };
}

function probeToFile(probe: CheckProbe): Record<string, unknown> {
  switch (probe.kind) {
    case 'http':
      return { http: probe.path, port: probe.port };
    case 'tcp':
      return { tcp: probe.port };
    case 'command':
      return { command: probe.command };
    case 'file':
      return { file: probe.file };
  }
}

function limitsToFile({ memoryMib, cpuMilli, pids, readMib, writeMib }: TaskLimits): Record<string, unknown> {
  return {
    ...(memoryMib === undefined ? {} : { memory: formatMib(memoryMib) }),
    ...(cpuMilli === undefined ? {} : { cpu: formatCpu(cpuMilli) }),
    ...(pids === undefined ? {} : { pids }),
    ...(readMib === undefined ? {} : { read: formatMib(readMib) }),
    ...(writeMib === undefined ? {} : { write: formatMib(writeMib) }),
  };
}

function gpuToFile(gpu: NonNullable<Task['gpu']>): unknown {
  if (gpu.milliEach === GPU_MILLI_PER_DEVICE && gpu.models.length === 0) return gpu.count;
  return {
    count: gpu.count,
    ...(gpu.milliEach === GPU_MILLI_PER_DEVICE ? {} : { share: formatShare(gpu.milliEach) }),
    ...unlessEmpty('models', gpu.models),
  };
}

function unlessEmpty(key: string, value: object): Record<string, unknown> {
  return Object.keys(value).length === 0 ? {} : { [key]: value };
}

function mapValues<A, B>(map: Readonly<Record<string, A>>, make: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, make(value)]));
}
