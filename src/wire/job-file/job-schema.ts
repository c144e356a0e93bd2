import { z } from 'zod';
import {
  JOB_TYPES,
  RETURN_POLICIES,
  SCHEDULER_KINDS,
  TASK_DRIVERS,
  UPDATE_STRATEGIES,
} from '../../core/cell/job.ts';
import { FENCES_MAX } from '../../core/host/fences.ts';
import { VOLUME_ACCESS, VOLUME_ON_LOSS } from '../../core/cell/volume.ts';
import { readDisk } from '../values/units.ts';
import * as bounds from '../values/bounds.ts';
import { readAttribute, readExpression } from './expression.ts';
import { amount, duration, mapOf, name, optional, refuse, text, whole, written } from '../values/values.ts';
import { taskFields } from './task-schema.ts';

/** The job file's shape: what a person may write, with every field's meaning, and each unit turned into whole numbers. */

const restart = z.strictObject({
  attempts: optional(whole(0, bounds.ATTEMPTS_MAX), 'Restarts on the same host within the window.'),
  window: optional(duration('more'), 'The time in which attempts are counted.', '10m'),
  delay: optional(duration('0'), 'Time before each restart.', '5s'),
  maxDelay: optional(
    duration('0'),
    'The delay doubles up to this, and begins anew after a run that lasted as long.',
    '5m',
  ),
  on: optional(z.enum(['failure', 'always', 'never']), 'What to restart after.'),
});

const rescheduleFields = z.strictObject({
  attempts: optional(
    z.union([whole(0, bounds.ATTEMPTS_MAX), z.literal('unlimited')], {
      error: `expected a whole number from 0 to ${String(bounds.ATTEMPTS_MAX)}, or unlimited`,
    }),
    'New allocations on other hosts when the restarts are used up.',
    3,
    'unlimited',
  ),
  delay: optional(duration('0'), 'The first delay; it doubles.', '15s'),
  maxDelay: optional(duration('0'), 'The longest delay.', '10m'),
  onHostLost: optional(z.boolean(), 'Replace what ran on a host that was declared lost. Default false.'),
  onReturn: optional(
    z.enum(RETURN_POLICIES),
    'Which one is kept when the lost host is back and still runs what was replaced. Default newest.',
    'original',
  ),
  onDrain: optional(
    z.boolean(),
    'Moves when its host is drained, or is labelled so that it no longer matches. false: it runs on to the deadline, and begins again on that host. Default true.',
  ),
  onRequest: optional(
    z.boolean(),
    'Moves when somebody asks: moorage move, moorage rebalance. Default: as onDrain says.',
  ),
});

const NEVER: z.output<typeof rescheduleFields> = { attempts: 0, onHostLost: false, onDrain: false };

/** Whatever may cause a new allocation has a field of its own, and `never` is the word for none of them. */
const reschedule = z.union([z.literal('never').transform(() => NEVER), rescheduleFields], {
  error: 'expected never, or a map such as { attempts: 3, onHostLost: true }',
});

const expression = z.string().transform((value, ctx) => {
  const reading = readExpression(value);
  return reading.ok ? reading.value : refuse(ctx, reading.text, reading.column);
});

const attribute = z.string().transform((value, ctx) => {
  const reading = readAttribute(value);
  return reading.ok ? reading.value : refuse(ctx, reading.text);
});

const avoided = z.union(
  [
    name.transform((text) => ({ class: text })),
    z.strictObject({
      class: name.meta({ description: 'A class of interference.', examples: ['batch'] }),
      over: optional(
        attribute,
        'Not on any host with the same value of this attribute, as far as its scheduler knows. Default: not on its host.',
        'host.rack',
      ),
    }),
  ],
  { error: 'expected a class, or { class: batch, over: host.rack }' },
);

const near = z.union(
  [
    name.transform((text) => ({ class: text })),
    z.strictObject({
      class: name.meta({ description: 'A class of interference.', examples: ['cache'] }),
      over: optional(
        attribute,
        'On any host with the same value of this attribute, as far as its scheduler knows. Default: on its host.',
        'host.rack',
      ),
      weight: optional(
        z
          .int()
          .min(1, { error: 'must be at least 1: to stay away from a class is avoid' })
          .max(bounds.WEIGHT_MAX),
        'How much it outweighs load and other preferences, 1 to 100. Default 50.',
        80,
      ),
    }),
  ],
  { error: 'expected a class, or { class: cache, over: host.rack, weight: 50 }' },
);

const PERCENT_MAX = 100;

const weight = whole(-bounds.WEIGHT_MAX, bounds.WEIGHT_MAX).refine((value) => value !== 0, {
  error: 'a weight of 0 does nothing',
});

const port = z
  .union([z.literal('auto').transform(() => 0), whole(1, 65_535)], {
    error: 'expected "auto" or a port from 1 to 65535',
  })
  .meta({ description: 'A fixed port, or auto for any free one.', examples: ['auto', 8080] });

const countRange = z.strictObject({
  min: whole(1, bounds.COUNT_MAX).meta({
    description: 'So many have the job’s priority, and are placed first.',
    examples: [2],
  }),
  max: whole(1, bounds.COUNT_MAX).meta({
    description: 'Up to so many, for as long as nobody else needs the room.',
    examples: [10],
  }),
});

/** The fields of a group without its tasks; in the short form they stand beside the job's. */
export const groupFields = {
  count: optional(
    z.union([whole(1, bounds.COUNT_MAX), countRange], {
      error: `expected a whole number from 1 to ${String(bounds.COUNT_MAX)}, or { min: 2, max: 10 }`,
    }),
    'How many allocations; of a batch job also from min to max, as there is idle capacity. Default 1.',
    6,
    { min: 2, max: 10 },
  ),
  parallelism: optional(whole(1, bounds.COUNT_MAX), 'How many may run at once. Default all.', 20),
  gang: optional(z.boolean(), 'All of count are placed in one commit, or none.'),
  ports: optional(
    mapOf(name, port, bounds.PORTS_MAX),
    'Ports by label, set as MOORAGE_PORT_<LABEL> for the tasks.',
    { http: 'auto' },
  ),
  constraints: optional(
    z
      .array(expression)
      // A printed job has those of its drivers written out.
      .max(bounds.CONSTRAINTS_MAX + TASK_DRIVERS.length),
    'What a host must be.',
    ['host.os == linux', 'host.memory >= 2Gi'],
  ),
  affinities: optional(
    z.array(z.strictObject({ expr: expression, weight: weight.optional() })).max(bounds.CONSTRAINTS_MAX),
    'What a host should be; weight -100 to 100.',
    [{ expr: 'host.class == ssd', weight: 40 }],
  ),
  spread: optional(
    z
      .array(
        z.strictObject({
          by: attribute,
          weight: whole(1, bounds.WEIGHT_MAX).optional(),
          targets: optional(
            z.record(z.string(), whole(0, PERCENT_MAX)).superRefine((targets, ctx) => {
              const count = Object.keys(targets).length;
              if (count === 0 || count > bounds.SPREAD_TARGETS_MAX)
                refuse(
                  ctx,
                  `expected 1 to ${String(bounds.SPREAD_TARGETS_MAX)} values, found ${String(count)}`,
                );
              const sum = Object.values(targets).reduce((all, percent) => all + percent, 0);
              if (sum > PERCENT_MAX) refuse(ctx, `more than 100 percent together: ${String(sum)}`);
            }),
            'Percent for each value; those not named share the rest evenly. Default: even.',
            { z1: 70, z2: 30 },
          ),
        }),
      )
      .max(bounds.ATTRIBUTES_MAX),
    'Distribution over the values of an attribute, even or by targets.',
    [{ by: 'host.zone' }],
    [{ by: 'host.zone', targets: { z1: 70, z2: 30 } }],
  ),
  distinct: optional(
    z.array(attribute).max(bounds.ATTRIBUTES_MAX),
    'No two allocations share these: host is one per host.',
    ['host'],
  ),
  class: optional(
    name,
    'What it is to its neighbours: a class of interference, which groups of any job may avoid. Default none.',
    'latency',
  ),
  avoid: optional(
    z.array(avoided).max(bounds.AVOID_MAX),
    'Classes that it shares no host with, or no rack, whichever was there first.',
    ['batch'],
    [{ class: 'batch', over: 'host.rack' }],
  ),
  near: optional(
    z.array(near).max(bounds.NEAR_MAX),
    'Classes that it would rather have on its host, or in its rack; it is placed anyway where there is nothing of them.',
    ['cache'],
    [{ class: 'cache', over: 'host.rack', weight: 80 }],
  ),
  restart: optional(restart, 'Restarts on the same host.'),
  reschedule: optional(reschedule, 'New allocations on other hosts; never: none, whatever happens.'),
  deadline: optional(duration('more'), 'Run time after which it is stopped. Default none.', '2h'),
  disconnect: optional(
    z.strictObject({
      stopAfter: optional(
        duration('more').refine((ms) => ms >= bounds.DISCONNECT_MS_MIN, { error: 'must be at least 15s' }),
        'Stopped when its host was cut off for so long. Default: it runs on.',
        '2m',
      ),
      fence: optional(
        z.union([name, z.array(name).min(1).max(FENCES_MAX)], {
          error: `expected the name of a fence, or a list of up to ${String(FENCES_MAX)}`,
        }),
        'Replaced on a lost host when one of these fences has confirmed that it runs there no more; self: its host, by stopAfter. Default none.',
        'power',
        ['power', 'self'],
      ),
    }),
    'What becomes of it when its host is cut off from the cell. Default: it runs on.',
  ),
  shutdownDelay: optional(
    duration('0').refine((ms) => ms <= bounds.SHUTDOWN_DELAY_MS_MAX, { error: 'must be at most 10m' }),
    'From when an allocation leaves its names until its tasks get their stop signal. Default none.',
    '5s',
  ),
  update: optional(
    z.strictObject({
      minHealthy: optional(
        duration('0'),
        'How long an allocation must run without a restart until the next is replaced. Default 10s.',
        '10s',
      ),
      parallelism: optional(
        whole(1, bounds.COUNT_MAX),
        'How many may be replaced at once, by an update or a drain. Default 1.',
        2,
      ),
      strategy: optional(
        z.enum(UPDATE_STRATEGIES),
        'stop-first: in the old one’s place. start-first: beside it, in a slot beyond count. Default stop-first.',
        'start-first',
      ),
      healthyDeadline: optional(
        duration('more'),
        'How long a new allocation may take until it is up. Default 5m.',
        '5m',
      ),
      progressDeadline: optional(
        duration('more'),
        'How long nothing may come of an update. Default 10m.',
        '10m',
      ),
      canary: optional(
        whole(1, bounds.COUNT_MAX),
        'So many of the new version run beside the old ones first, until `moorage rollout promote`.',
        1,
      ),
      autoPromote: optional(z.boolean(), 'Canaries that are up need nobody’s word. Default false.'),
      autoRevert: optional(
        z.boolean(),
        'An update that fails is undone: the last good version is submitted again. Default false.',
      ),
    }),
    'How a new version takes the place of the old one.',
  ),
  volumes: optional(
    mapOf(
      name,
      z.strictObject({
        claim: optional(name, 'Its name in the namespace, for jobs that share it. Default: the job’s own.'),
        source: optional(name, 'A volume that hosts announce. Default: a folder of its own.', 'ssd'),
        scope: optional(
          z.enum(['local', 'global']),
          'local: the data lies on one host, and the job stays there. global: a driver brings it to the host of the job. Default local.',
        ),
        driver: optional(name, 'Of scope global: the volume driver that brings it to hosts.', 'nfs'),
        size: optional(
          amount(readDisk, 'a size such as "1Gi"'),
          'Of scope global: for a driver that makes volumes of a size.',
          '10Gi',
        ),
        forceDetach: optional(
          z.boolean(),
          'Of scope global: its driver may take it from a lost host that was fenced or removed. Default false.',
        ),
        access: optional(
          z.enum(VOLUME_ACCESS),
          'exclusive: one allocation at a time, each slot its own. shared: all on the one host. Default exclusive.',
        ),
        readOnly: optional(z.boolean(), 'Nobody writes to it. Default false.'),
        onLoss: optional(
          z.enum(VOLUME_ON_LOSS),
          'When its host is lost: keep waits for it, recreate begins again elsewhere without the data. Default keep.',
        ),
      }),
      bounds.VOLUMES_MAX,
    ),
    'Data that outlives its allocations, by name; tasks mount it.',
    { data: { access: 'exclusive' } },
  ),
  waitMax: optional(
    duration('more'),
    'How long it may wait for a place before the job fails. Default for ever.',
    '10m',
  ),
};

export const jobFields = {
  name: name.meta({ description: 'Unique in its namespace.', examples: ['storefront'] }),
  namespace: optional(name, 'Default "default".', 'team-a'),
  type: optional(z.enum(JOB_TYPES), 'Default service.', 'batch'),
  priority: optional(
    whole(0, bounds.PRECEDENCE_MAX),
    'Precedence, 0 to 100: who may take whose place. Default 50.',
    60,
  ),
  scheduler: optional(
    z.enum(['auto', ...SCHEDULER_KINDS]),
    'Kind of scheduler. Default auto: by type.',
    'auto',
  ),
  labels: optional(
    mapOf(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/, {
        error:
          'a label begins with a letter or digit and has letters, digits and . _ / - after it, at most 63',
      }),
      written.pipe(text(bounds.TEXT_BYTES_MAX, 'a label')),
      bounds.LABELS_MAX,
    ),
    'For people and their tools.',
    { team: 'web' },
  ),
  oneOff: optional(z.boolean(), 'Made by `moorage run -- COMMAND`.'),
};

const task = z.strictObject(taskFields);

const group = z.strictObject({
  ...groupFields,
  tasks: mapOf(name, task, bounds.TASKS_MAX)
    .refine((tasks) => Object.keys(tasks).length > 0, { error: 'needs at least one task' })
    .meta({ description: 'Tasks by name; they share one allocation.' }),
});

/** job → group → task. */
export const longForm = z.strictObject({
  ...jobFields,
  groups: mapOf(name, group, bounds.GROUPS_MAX)
    .refine((groups) => Object.keys(groups).length > 0, { error: 'needs at least one group' })
    .meta({ description: 'Groups by name. Absent: the short form, one task.' }),
});

/** One task, its group and the job in one map. */
export const shortForm = z.strictObject({ ...jobFields, ...groupFields, ...taskFields });

/** The least and the most that may run. */
export function rangeOf({ count = 1 }: Pick<GroupFile, 'count'>): {
  readonly min: number;
  readonly max: number;
} {
  return typeof count === 'number' ? { min: count, max: count } : count;
}

export type TaskFile = z.output<typeof task>;
export type GroupFile = z.output<typeof group>;
export type LongFile = z.output<typeof longForm>;
export type ShortFile = z.output<typeof shortForm>;
