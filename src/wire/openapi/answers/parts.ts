import { z } from 'zod';
import type { Allocation, Exit } from '../../../core/cell/allocation.ts';
import { DESIRED_STATES } from '../../../core/cell/allocation.ts';
import type { Claim } from '../../../core/cell/claim.ts';
import type { SlotAttempt } from '../../../core/cell/allocation.ts';
import { VOLUME_ACCESS, VOLUME_ON_LOSS } from '../../../core/cell/volume.ts';
import type { AllocationReport, TaskReport } from '../../../core/host/report.ts';
import { CHECK_STATES } from '../../../core/host/report.ts';
import type { ObservedState } from '../../../core/host/states.ts';
import { OBSERVED_STATES } from '../../../core/host/states.ts';
import type { Restarts } from '../../../core/slots/restarts.ts';
import { counts, resources, whole } from '../../codec/codec.ts';

/** What several answers have in them. Each is typed by what the monitor answers with: a field that is missing here does not compile. */

export const text = z.string();
export const texts = z.array(text);
export const yes = z.literal(true);
/** Absent when there is nothing to say. */
export const maybe = z.exactOptional;

/** Of a list that was asked for in parts. */
export const next = maybe(
  text.meta({ description: 'the cursor of the next page; absent: this is the last' }),
);

const gpus = z.array(z.object({ device: whole, milli: whole }));

const observed: z.ZodType<ObservedState> = z.enum(OBSERVED_STATES as readonly [ObservedState]);

export const exit: z.ZodType<Exit> = z.object({
  ...{ code: maybe(z.int()), signal: maybe(text), lost: maybe(text), unhealthy: maybe(text) },
  oomKills: maybe(whole),
});

export const restarts: z.ZodType<Restarts> = z.object({
  ...{ count: whole, most: whole, waiting: whole, lastAtMs: whole.nullable(), lastExit: exit.nullable() },
});

const claim = {
  ...{ id: text, host: text, precedence: z.int(), resources, gpus, ports: counts, shared: maybe(counts) },
  volumes: maybe(
    z.array(
      z.object({
        ...{ name: text, claim: text, id: text, source: maybe(text), readOnly: maybe(yes) },
        ...{ access: z.enum(VOLUME_ACCESS), onLoss: z.enum(VOLUME_ON_LOSS) },
        ...{ driver: maybe(text), sizeMib: maybe(whole), create: maybe(yes), force: maybe(yes) },
      }),
    ),
  ),
} satisfies Keys<Claim>;

const slotAttempt = {
  ...{ namespace: text, job: text, jobVersion: whole, group: text, index: whole, attempt: whole },
  scheduler: text,
} satisfies Keys<SlotAttempt>;

export const allocation: z.ZodType<Allocation> = z.object({
  ...{ ...claim, ...slotAttempt, desired: z.enum(DESIRED_STATES), planId: text, createdAtMs: whole },
  epoch: z.object({ incarnation: text, counter: whole }),
  ...{ cause: maybe(text), replaces: maybe(text), evicts: maybe(texts), intent: maybe(text) },
  displaces: maybe(texts),
  yields: maybe(
    z.object({
      intent: z.object({ namespace: text, job: text, id: text }),
      keeps: z.object({ resources, gpus }),
    }),
  ),
});

const task: z.ZodType<TaskReport> = z.object({
  ...{ state: observed, pid: maybe(whole), exit: maybe(exit), restarts: whole, startedAtMs: maybe(whole) },
  ...{ ready: maybe(z.boolean()), lastExit: maybe(exit) },
  checks: maybe(z.record(text, z.object({ state: z.enum(CHECK_STATES), sinceMs: whole, detail: text }))),
});

export const report: z.ZodType<AllocationReport> = z.object({
  ...{ ...claim, ...slotAttempt, state: observed, released: z.boolean(), reason: text, exit: maybe(exit) },
  ...{ addresses: maybe(texts), restarts: whole, startedAtMs: maybe(whole), endedAtMs: maybe(whole) },
  tasks: z.record(text, task),
});

type Keys<T> = { readonly [K in keyof T]-?: z.ZodType };
