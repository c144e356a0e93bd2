import { z } from 'zod';
import { JOB_TYPES, SCHEDULER_KINDS, TASK_DRIVERS } from '../../core/cell/job.ts';
import * as bounds from '../values/bounds.ts';
import { readAttribute, readExpression } from './expression.ts';
import { duration, mapOf, name, refuse, text, whole, written } from '../values/values.ts';
import { taskFields } from './task-schema.ts';

/** The job file's shape: what a person may write, with every field's meaning, and each unit turned into whole numbers. */

const restart = z.strictObject({
  attempts: whole(0, bounds.ATTEMPTS_MAX)
    .optional()
    .meta({ description: 'Restarts on the same host within the window.' }),
  window: duration('more')
    .optional()
    .meta({ description: 'The time in which attempts are counted.', examples: ['10m'] }),
  delay: duration('0')
    .optional()
    .meta({ description: 'Time before each restart.', examples: ['5s'] }),
  maxDelay: duration('0')
    .optional()
    .meta({
      description: 'The delay doubles up to this, and begins anew after a run that lasted as long.',
      examples: ['5m'],
    }),
  on: z.enum(['failure', 'always', 'never']).optional().meta({ description: 'What to restart after.' }),
});

const reschedule = z.strictObject({
  attempts: z
    .union([whole(0, bounds.ATTEMPTS_MAX), z.literal('unlimited')], {
      error: `expected a whole number from 0 to ${String(bounds.ATTEMPTS_MAX)}, or unlimited`,
    })
    .optional()
    .meta({
      description: 'New allocations on other hosts when the restarts are used up.',
      examples: [3, 'unlimited'],
    }),
  delay: duration('0')
    .optional()
    .meta({ description: 'The first delay; it doubles.', examples: ['15s'] }),
  maxDelay: duration('0')
    .optional()
    .meta({ description: 'The longest delay.', examples: ['10m'] }),
  onHostLost: z
    .boolean()
    .optional()
    .meta({ description: 'Replace what ran on a host that was declared lost. Default false.' }),
});

const expression = z.string().transform((value, ctx) => {
  const reading = readExpression(value);
  return reading.ok ? reading.value : refuse(ctx, reading.text, reading.column);
});

const attribute = z.string().transform((value, ctx) => {
  const reading = readAttribute(value);
  return reading.ok ? reading.value : refuse(ctx, reading.text);
});

const PERCENT_MAX = 100;

const weight = whole(-bounds.WEIGHT_MAX, bounds.WEIGHT_MAX).refine((value) => value !== 0, {
  error: 'a weight of 0 does nothing',
});

const port = z
  .union([z.literal('auto').transform(() => 0), whole(1, 65_535)], {
    error: 'expected "auto" or a port from 1 to 65535',
  })
  .meta({ description: 'A fixed port, or auto for any free one.', examples: ['auto', 8080] });

/** The fields of a group without its tasks; in the short form they stand beside the job's. */
export const groupFields = {
  count: whole(1, bounds.COUNT_MAX)
    .optional()
    .meta({ description: 'How many allocations. Default 1.', examples: [6] }),
  parallelism: whole(1, bounds.COUNT_MAX)
    .optional()
    .meta({ description: 'How many may run at once. Default all.', examples: [20] }),
  gang: z.boolean().optional().meta({ description: 'All of count are placed in one commit, or none.' }),
  ports: mapOf(name, port, bounds.PORTS_MAX)
    .optional()
    .meta({
      description: 'Ports by label, set as MOORAGE_PORT_<LABEL> for the tasks.',
      examples: [{ http: 'auto' }],
    }),
  constraints: z
    .array(expression)
    // A printed job has those of its drivers written out.
    .max(bounds.CONSTRAINTS_MAX + TASK_DRIVERS.length)
    .optional()
    .meta({ description: 'What a host must be.', examples: [['host.os == linux', 'host.memory >= 2Gi']] }),
  affinities: z
    .array(z.strictObject({ expr: expression, weight: weight.optional() }))
    .max(bounds.CONSTRAINTS_MAX)
    .optional()
    .meta({
      description: 'What a host should be; weight -100 to 100.',
      examples: [[{ expr: 'host.class == ssd', weight: 40 }]],
    }),
  spread: z
    .array(
      z.strictObject({
        by: attribute,
        weight: whole(1, bounds.WEIGHT_MAX).optional(),
        targets: z
          .record(z.string(), whole(0, PERCENT_MAX))
          .superRefine((targets, ctx) => {
            const count = Object.keys(targets).length;
            if (count === 0 || count > bounds.SPREAD_TARGETS_MAX)
              refuse(
                ctx,
                `expected 1 to ${String(bounds.SPREAD_TARGETS_MAX)} values, found ${String(count)}`,
              );
            const sum = Object.values(targets).reduce((all, percent) => all + percent, 0);
            if (sum > PERCENT_MAX) refuse(ctx, `more than 100 percent together: ${String(sum)}`);
          })
          .optional()
          .meta({
            description: 'Percent for each value; those not named share the rest evenly. Default: even.',
            examples: [{ z1: 70, z2: 30 }],
          }),
      }),
    )
    .max(bounds.ATTRIBUTES_MAX)
    .optional()
    .meta({
      description: 'Distribution over the values of an attribute, even or by targets.',
      examples: [[{ by: 'host.zone' }], [{ by: 'host.zone', targets: { z1: 70, z2: 30 } }]],
    }),
  distinct: z
    .array(attribute)
    .max(bounds.ATTRIBUTES_MAX)
    .optional()
    .meta({ description: 'No two allocations share these: host is one per host.', examples: [['host']] }),
  restart: restart.optional().meta({ description: 'Restarts on the same host.' }),
  reschedule: reschedule.optional().meta({ description: 'New allocations on other hosts.' }),
  deadline: duration('more')
    .optional()
    .meta({ description: 'Run time after which it is stopped. Default none.', examples: ['2h'] }),
  disconnect: z
    .strictObject({
      stopAfter: duration('more')
        .refine((ms) => ms >= bounds.DISCONNECT_MS_MIN, { error: 'must be at least 15s' })
        .meta({ description: 'Stopped when its host was cut off for so long.', examples: ['2m'] }),
    })
    .optional()
    .meta({ description: 'What its host does when it is cut off from the cell. Default: it runs on.' }),
  waitMax: duration('more')
    .optional()
    .meta({
      description: 'How long it may wait for a place before the job fails. Default for ever.',
      examples: ['10m'],
    }),
};

export const jobFields = {
  name: name.meta({ description: 'Unique in its namespace.', examples: ['storefront'] }),
  namespace: name.optional().meta({ description: 'Default "default".', examples: ['team-a'] }),
  type: z
    .enum(JOB_TYPES)
    .optional()
    .meta({ description: 'Default service.', examples: ['batch'] }),
  priority: whole(0, bounds.PRECEDENCE_MAX)
    .optional()
    .meta({ description: 'Precedence, 0 to 100: who may take whose place. Default 50.', examples: [60] }),
  scheduler: z
    .enum(['auto', ...SCHEDULER_KINDS])
    .optional()
    .meta({ description: 'Kind of scheduler. Default auto: by type.', examples: ['auto'] }),
  labels: mapOf(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/, {
      error: 'a label begins with a letter or digit and has letters, digits and . _ / - after it, at most 63',
    }),
    written.pipe(text(bounds.TEXT_BYTES_MAX, 'a label')),
    bounds.LABELS_MAX,
  )
    .optional()
    .meta({ description: 'For people and their tools.', examples: [{ team: 'web' }] }),
  oneOff: z.boolean().optional().meta({ description: 'Made by `moorage run -- COMMAND`.' }),
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

export type TaskFile = z.output<typeof task>;
export type GroupFile = z.output<typeof group>;
export type LongFile = z.output<typeof longForm>;
export type ShortFile = z.output<typeof shortForm>;
