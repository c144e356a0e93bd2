import type { ElasticSpec } from '../elastic/spec.ts';
import type { ModelSpec } from '../model/spec.ts';

/** One simulated run: everything that decides its outcome, and nothing else. */
export interface PointSpec extends ModelSpec {
  /** null: no elastic jobs. Only beside shared state. */
  readonly elastic: ElasticSpec | null;
}
