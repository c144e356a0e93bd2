/**
 * What the page computes, without a browser:
 *
 * - `route.ts`: which view an address means
 * - `seen-rows.ts`: which rows of a long list are in sight
 * - `series.ts`: figures over time, and the line of a chart
 * - `host-grid.ts`: hosts by failure domain, as squares of a map
 * - `job-matches.ts`: which jobs a filter lets through
 * - `plain-output.ts`: the output of tasks as text, bounded
 * - `pace.ts`: how often something is loaded again
 * - `usage.ts`: what is used, from two looks at it
 * - `timeline.ts`: allocations over time; `rollout-state.ts`: how an update stands
 * - `conflict-steps.ts`: a conflict, told from the events around it
 */

/** Amounts are shown as percents of what there is. */
export function share(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.min(1, Math.max(0, part / whole));
}
