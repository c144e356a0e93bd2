import { z } from 'zod';
import { jobRecordSchema } from '../records/job-codec.ts';
import { hostCodec } from '../records/records.ts';
import { id, plainText, readBody } from '../api/api.ts';
import { claim } from '../api/host-requests.ts';
import { MOVES_MAX } from '../values/bounds.ts';
import type { MovesRequest, PlanRequest, SchedulerPlanRequest } from './plan.ts';
import { JOB_MOVES_MAX } from '../../core/cell/job.ts';
import { PLAN_HOSTS_MAX, TEXT_BYTES_MAX } from '../values/bounds.ts';
import { ProblemError } from '../api/problem.ts';

const rebalance = z.strictObject({ budget: z.int().min(1).max(MOVES_MAX) });

/** A job file is checked by `parseJobObject`. */
export const planRequest: z.ZodType<PlanRequest> = z.strictObject({
  submit: z.exactOptional(z.record(z.string(), z.unknown())),
  hostsLost: z.exactOptional(z.array(id).min(1).max(PLAN_HOSTS_MAX)),
  hostsAdded: z.exactOptional(z.strictObject({ count: z.int().min(1).max(PLAN_HOSTS_MAX), like: id })),
  rebalance: z.exactOptional(rebalance),
});

const claims = z.array(z.strictObject(claim));

/** From a monitor; a job as it lies in the store. */
const schedulerPlanRequest: z.ZodType<SchedulerPlanRequest> = z.strictObject({
  cell: z.strictObject({
    hostsLost: z.array(id),
    hostsAdded: z.array(hostCodec.schema),
    placed: claims,
    freed: claims,
  }),
  submit: z.exactOptional(jobRecordSchema),
  evicted: z.array(z.strictObject({ namespace: id, job: id, id, by: z.string() })),
  affected: z.boolean(),
  rebalance: z.exactOptional(rebalance),
});

export const movesRequest: z.ZodType<MovesRequest> = z.strictObject({
  moves: z
    .array(z.strictObject({ allocation: id, to: z.exactOptional(id) }))
    .min(1)
    .max(JOB_MOVES_MAX),
  reason: plainText(TEXT_BYTES_MAX),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readMovesRequest(body: unknown): MovesRequest {
  const request = readBody(movesRequest, body);
  const ids = request.moves.map(({ allocation }) => allocation);
  refuseTwice(ids, { path: 'moves', done: 'moved' });
  return request;
}

/** @throws ProblemError 400 with the place of the second one */
function refuseTwice(ids: readonly string[], { path, done }: Record<'path' | 'done', string>): void {
  const seen = new Set<string>();
  for (const [at, id] of ids.entries()) {
    const detail = `${id} is ${done} twice`;
    if (seen.has(id))
      throw new ProblemError({ status: 400, code: 'bad-request', detail, path: `${path}.${String(at)}` });
    seen.add(id);
  }
}

/** @throws ProblemError 400 with the place that is wrong */
export function readPlanRequest(body: unknown): PlanRequest {
  const request = readBody(planRequest, body);
  if (Object.keys(request).length === 1) return request;
  throw new ProblemError({
    status: 400,
    code: 'bad-request',
    detail: 'one of submit, hostsLost, hostsAdded and rebalance is needed, and no more',
    path: '',
  });
}

/** @throws ProblemError 400 with the place that is wrong */
export function readSchedulerPlanRequest(body: unknown): SchedulerPlanRequest {
  const request = readBody(schedulerPlanRequest, body);
  const ids = request.cell.placed.map((claim) => claim.id);
  refuseTwice(ids, { path: 'cell.placed', done: 'placed' });
  return request;
}
