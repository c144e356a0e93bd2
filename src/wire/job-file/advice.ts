import type { JobType } from '../../core/cell/job.ts';
import { DEFAULT_TYPE } from './defaults.ts';
import type { GroupFile, LongFile, TaskFile } from './job-schema.ts';
import { rangeOf } from './job-schema.ts';
import type { RuleFault } from './problems.ts';

/** Names of variables whose values are no business of who may read the job. */
const SECRET_NAMES = /(PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY|CREDENTIALS)$/i;

/** What a valid job leaves to chance, or to defaults that surprise people: each with its place and what to write. */
export function adviceOn(file: LongFile): RuleFault[] {
  const type = file.type ?? DEFAULT_TYPE;
  return Object.entries(file.groups).flatMap(([name, group]) => {
    const at = ['groups', name];
    const tasks = Object.entries(group.tasks).flatMap(([task, one]) =>
      adviceOnTask([...at, 'tasks', task], one),
    );
    const own = type === 'service' ? adviceOnService(at, group) : adviceOnBatch(at, group, type);
    return [...own, ...adviceOnPorts(at, group), ...tasks];
  });
}

function adviceOnService(at: readonly string[], group: GroupFile): RuleFault[] {
  const { ports = {}, reschedule, update, distinct, spread, avoid = [], near = [], tasks, volumes } = group;
  const count = rangeOf(group).max;
  const advice: RuleFault[] = [];
  const say = (key: string, text: string) => advice.push({ path: [...at, key], text });
  if (Object.keys(ports).length > 0 && Object.values(tasks).every(({ checks }) => checks === undefined))
    say(
      'ports',
      'an instance serves as soon as its process runs; a check waits until it answers: checks: { web: { tcp: PORT } }',
    );
  if (reschedule?.onHostLost !== true && volumes === undefined)
    say('reschedule', 'nothing takes the place of what ran on a lost host: reschedule: { onHostLost: true }');
  if (count === 1 && update?.strategy === undefined && volumes === undefined)
    say(
      'update',
      'an update stops the only instance before the new one runs: update: { strategy: start-first }',
    );
  if (count > 1 && update?.autoRevert === undefined)
    say('update', 'a version that does not come up stays where it failed: update: { autoRevert: true }');
  const isAlone = avoid.some((one) => one.class === group.class);
  const isTogether = near.some((one) => one.class === group.class && !('over' in one));
  if (count > 1 && distinct === undefined && spread === undefined && !isAlone && !isTogether)
    say('count', 'all of them may be on one host: distinct: [host], or spread: [{ by: host.zone }]');
  return advice;
}

function adviceOnBatch(at: readonly string[], group: GroupFile, type: JobType): RuleFault[] {
  const advice: RuleFault[] = [];
  if (type === 'batch' && group.deadline === undefined)
    advice.push({ path: [...at, 'deadline'], text: 'a task that hangs runs for ever: deadline: 1h' });
  if (group.gang === true && (group.count ?? 1) === 1)
    advice.push({ path: [...at, 'gang'], text: 'of one allocation all or none is always placed; remove it' });
  return advice;
}

function adviceOnPorts(at: readonly string[], { ports = {}, distinct, ...group }: GroupFile): RuleFault[] {
  if (rangeOf(group).max === 1 || distinct !== undefined) return [];
  return Object.entries(ports)
    .filter(([, port]) => typeof port === 'number' && port > 0)
    .map(([label, port]) => ({
      path: [...at, 'ports', label],
      text: `one host has port ${String(port)} once, so every instance needs another host: auto, or distinct: [host]`,
    }));
}

function adviceOnTask(at: readonly string[], task: TaskFile): RuleFault[] {
  const advice: RuleFault[] = [];
  if (task.resources === undefined)
    advice.push({
      path: [...at, 'resources'],
      text: 'it is placed by the default, 100m and 128Mi, and ends when it takes more memory: resources: { cpu: 500m, memory: 256Mi }',
    });
  for (const [name, value] of Object.entries(task.env ?? {}))
    if (SECRET_NAMES.test(name) && value !== '')
      advice.push({
        path: [...at, 'env', name],
        text: `whoever may read the job reads it: moorage secret set, and secrets: [${name.toLowerCase().replaceAll('_', '-')}]`,
      });
  return advice;
}
