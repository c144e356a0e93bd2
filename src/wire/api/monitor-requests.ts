import { z } from 'zod';
import { whole } from '../codec/codec.ts';
import { COUNT_MAX, TEXT_BYTES_MAX } from '../values/bounds.ts';
import { HOST_LABELS_MAX, labelRefusal } from '../../core/host/attributes.ts';
import { SELF_FENCE } from '../../core/host/fences.ts';
import { id, plainText, readBody } from './api.ts';
import { ProblemError } from './problem.ts';
import type {
  EligibilityRequest,
  FenceRequest,
  LabelsRequest,
  RolloutRequest,
  ScaleRequest,
  UndoRequest,
} from './monitor-api.ts';
import { ROLLOUT_ACTS } from './monitor-api.ts';

/** A year: a drain that takes longer is a cordon. */
const DRAIN_MS_MAX = 365 * 24 * 3_600_000;

export const eligibilityRequest: z.ZodType<EligibilityRequest> = z.strictObject({
  state: z.enum(['ready', 'cordoned', 'draining', 'lost']),
  reason: plainText(TEXT_BYTES_MAX),
  deadlineMs: z.exactOptional(whole.max(DRAIN_MS_MAX)),
  atMs: z.exactOptional(whole),
  forMs: z.exactOptional(whole.min(1).max(DRAIN_MS_MAX)),
});

/**
 * @param nowMs what is planned is later, and within a year
 * @throws ProblemError 400 with the place that is wrong
 */
export function readEligibilityRequest(body: unknown, nowMs: number): EligibilityRequest {
  const request = readBody(eligibilityRequest, body);
  const { state, atMs, forMs, deadlineMs } = request;
  const wrong = (path: string, detail: string): ProblemError =>
    new ProblemError({ status: 400, code: 'bad-request', detail, path });
  for (const field of ['atMs', 'forMs'] as const)
    if (request[field] !== undefined && state !== 'draining') throw wrong(field, 'only a drain has it');
  if (atMs !== undefined && atMs <= nowMs)
    throw wrong('atMs', `${timeText(atMs)} is past: it is ${timeText(nowMs)}; leave it out to drain now`);
  if (atMs !== undefined && atMs > nowMs + DRAIN_MS_MAX)
    throw wrong('atMs', `${timeText(atMs)} is more than a year away`);
  if (forMs !== undefined && deadlineMs !== undefined && deadlineMs > forMs)
    throw wrong('deadlineMs', 'the host is ready again before that: it must be at most forMs');
  return request;
}

function timeText(ms: number): string {
  return Number.isFinite(new Date(ms).getTime()) ? new Date(ms).toISOString() : String(ms);
}

export const labelsRequest: z.ZodType<LabelsRequest> = z.strictObject({
  set: z.exactOptional(z.record(z.string(), plainText(TEXT_BYTES_MAX))),
  remove: z.exactOptional(z.array(z.string()).max(HOST_LABELS_MAX)),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readLabelsRequest(body: unknown): LabelsRequest {
  const request = readBody(labelsRequest, body);
  for (const name of [...Object.keys(request.set ?? {}), ...(request.remove ?? [])]) {
    const detail = labelRefusal(name);
    if (detail !== null) throw new ProblemError({ status: 400, code: 'bad-request', detail, path: name });
  }
  return request;
}

export const fenceRequest: z.ZodType<FenceRequest> = z.strictObject({
  fence: id,
  reason: plainText(TEXT_BYTES_MAX),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readFenceRequest(body: unknown): FenceRequest {
  const request = readBody(fenceRequest, body);
  if (request.fence !== SELF_FENCE) return request;
  const detail =
    'a host fences itself by the time that the job gives it (disconnect.stopAfter): nobody confirms that';
  throw new ProblemError({ status: 400, code: 'bad-request', detail, path: 'fence' });
}

/** Why somebody does something, from the query. @throws ProblemError 400 */
export function readReason(text: unknown): string {
  return readBody(plainText(TEXT_BYTES_MAX), text);
}

export const rolloutRequest: z.ZodType<RolloutRequest> = z.strictObject({ act: z.enum(ROLLOUT_ACTS) });
export const undoRequest: z.ZodType<UndoRequest> = z.strictObject({ version: z.exactOptional(whole.min(1)) });
export const scaleRequest: z.ZodType<ScaleRequest> = z.strictObject({
  group: z.exactOptional(id),
  count: z.int().min(1).max(COUNT_MAX),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readRolloutRequest(body: unknown): RolloutRequest {
  return readBody(rolloutRequest, body);
}

/** @throws ProblemError 400 with the place that is wrong */
export function readUndoRequest(body: unknown): UndoRequest {
  return readBody(undoRequest, body ?? {});
}

/** @throws ProblemError 400 with the place that is wrong */
export function readScaleRequest(body: unknown): ScaleRequest {
  return readBody(scaleRequest, body);
}
