import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../src/core/json/canonical-json.ts';
import type { PointResult } from '../../../sim/omega/point/result.ts';
import type { PointSpec } from '../../../sim/omega/point/spec.ts';
import type { TraceRef } from '../workload/trace.ts';

/** One run: what decides its outcome, and the file that its jobs come from. */
export interface PointTask {
  readonly spec: PointSpec;
  readonly trace: TraceRef | null;
}

/** What a thread does, and the shared flag, not 0, that ends it: a thread that computes reads no messages. */
export interface ThreadOrder {
  readonly task: PointTask;
  readonly stop: Int32Array<SharedArrayBuffer>;
}

export interface FinishedPoint {
  readonly result: PointResult;
  /** How long it took on its thread. */
  readonly wallSeconds: number;
}

/** Grows when the model changes what it measures, so that `--resume` takes up no results of an older one. */
const MODEL_VERSION = 2;
const KEY_LENGTH = 24;

/** The same run has the same key, in whatever figure it stands. */
export function keyOf(task: PointTask): string {
  const text = canonicalJson([MODEL_VERSION, task.spec, task.trace]);
  return createHash('sha256').update(text).digest('hex').slice(0, KEY_LENGTH);
}
