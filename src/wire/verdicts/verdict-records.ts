import { z } from 'zod';
import type { RemedyPolicy } from '../../core/detector/remedies.ts';
import { DEFAULT_REMEDIES, REMEDIES } from '../../core/detector/remedies.ts';
import type { Verdict } from '../../core/detector/verdict.ts';
import { REMEDY_STATES } from '../../core/detector/verdict.ts';
import { checkedCodec, schemaCodec, whole } from '../codec/codec.ts';

const texts = z.array(z.string());
const remedies = z.array(z.enum(REMEDIES));

/** Who is at fault, under `verdicts/`. */
export const verdictCodec = schemaCodec<Verdict>(
  'verdict',
  z.looseObject({
    ...{ suspect: z.string(), by: z.string(), sinceMs: whole, times: whole },
    evidence: z.looseObject({
      ...{ logOddsCenti: whole, bad: whole, well: whole, controlBad: whole, controlWell: whole },
      ...{ firstFailedAtMs: whole, hosts: texts, hostsTotal: whole, jobs: texts, jobsTotal: whole },
      ...{ reasons: texts, changes: texts, rivals: texts },
    }),
    remedies: z.array(
      z.looseObject({
        ...{ remedy: z.enum(REMEDIES), state: z.enum(REMEDY_STATES), atMs: whole, detail: z.string() },
      }),
    ),
    ...{ endedAtMs: z.exactOptional(whole), endedBy: z.exactOptional(z.string()) },
    ...{ endedWhy: z.exactOptional(z.string()), mutedUntilMs: z.exactOptional(whole) },
  }),
);

const DAY_MS = 24 * 3_600_000;
const share = whole.max(100);
const time = whole.min(1_000).max(DAY_MS);
const perHour = whole.min(1).max(10_000);

/** What is done about verdicts: `remedies`. */
export const remedyPolicyCodec = checkedCodec<RemedyPolicy>(
  'remedies',
  z.looseObject({
    ...{ revision: remedies, host: remedies, domain: remedies, jobs: z.record(z.string(), remedies) },
    ...{ sharePercent: share, quarantineMs: time, restartEveryMs: time },
    // Absent in records of before.
    perHourMax: perHour.default(DEFAULT_REMEDIES.perHourMax),
  }),
);

/** What an operator leaves out is as by default. */
export const remedyPolicyRequest: z.ZodType<RemedyPolicyRequest> = z.strictObject({
  ...{ revision: z.exactOptional(remedies), host: z.exactOptional(remedies) },
  ...{ domain: z.exactOptional(remedies), jobs: z.exactOptional(z.record(z.string(), remedies)) },
  ...{ sharePercent: z.exactOptional(share), quarantineMs: z.exactOptional(time) },
  ...{ restartEveryMs: z.exactOptional(time), perHourMax: z.exactOptional(perHour) },
});

export type RemedyPolicyRequest = Partial<RemedyPolicy>;

/** For which remedies the budget of the cell was taken, and when: `remedy-budget`. */
export interface RemedyBudgetRecord {
  /** By verdict and remedy; of the last hour. */
  readonly takenAtMs: Readonly<Record<string, number>>;
}

export const remedyBudgetCodec = schemaCodec<RemedyBudgetRecord>(
  'remedy budget',
  z.looseObject({ takenAtMs: z.record(z.string(), whole) }),
);

/** The hosts of a pool that are closed for verdicts, under `closed/`. */
export interface ClosedHosts {
  readonly hosts: readonly string[];
}

export const closedHostsCodec = schemaCodec<ClosedHosts>('closed hosts', z.looseObject({ hosts: texts }));
