import type { ElasticLoad } from './mapreduce-job.ts';
import type { ElasticPolicy } from './policy.ts';

/** A specialised scheduler of elastic jobs beside the others, and what is submitted to it. */
export interface ElasticSpec {
  readonly load: ElasticLoad;
  readonly policy: ElasticPolicy;
  /** A running job with fewer workers than it could use is tried again after so long. */
  readonly growEverySeconds: number;
}
