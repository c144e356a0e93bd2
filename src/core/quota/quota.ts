/**
 * What bounds use beyond a single host: the quota of a namespace, in this file, and beside it:
 *
 * - `amounts.ts`: what allocations count against a quota, and sums of it
 * - `shared-resource.ts`: what hosts share, and its pools
 * - `pool-book.ts`: the newest known state of the pools
 * - `rate-queue.ts`: hands an amount per second out, part by part
 * - `token-bucket.ts`: tokens that several draw in slices; `joint-tokens.ts`: of several buckets, all or none
 * - `budgets.ts`: what the cell needs tokens for; `budget-buckets.ts`: of which buckets, the cell's and those of failure domains
 * - `volume-claims.ts`: claims on volumes, which are pools that lie on one host
 * - `grant.ts`: what an arbiter has granted of a quota, as it is stored
 * - `pauses.ts`: what operators pause, where and until when
 * - `ticket.ts`: an arbiter's permission to start an allocation, and how a host checks it
 */

/** What a namespace may use at most, over all schedulers. null: no limit. */
export interface Quota {
  readonly namespace: string;
  readonly cpuMilli: number | null;
  readonly memoryMib: number | null;
  readonly gpuMilli: number | null;
  readonly allocations: number | null;
}
