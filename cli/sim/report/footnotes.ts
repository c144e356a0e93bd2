/** What the words of a report mean; at the end of each. */
export const FOOTNOTES: readonly string[] = [
  'Busyness: share of the time in which a scheduler decides about attempts that place something, conflicts or not; the median over the days of the run (over eight parts of a run shorter than two days), bars are the median absolute deviation. Attempts that find no room are left out, as in Omega’s simulator; the CSV has them in occupied_median.',
  'Without conflicts: arrivals times decision time, from the jobs that were submitted; drawn up to 1.',
  'Conflict fraction: transactions with any conflict for each one without; 1 means that every second try fails.',
  'Wait: from submission to the start of the first try. Jobs that were never tried have none, so in a saturated run it is too small.',
  'Decision time: for each job, and for each task that is still without a place. The private copy is taken when an attempt begins; hosts are chosen on it when the decision time is over, and committed at once.',
  'The conflict decision is Moorage’s own: plan units, judging after a refused compare, and the fit rule of src/core. The tasks of one job on one host land or fail together, where Omega’s simulator decides each by itself; with random placement a job seldom has two on one host.',
  'After an attempt a job with tasks left goes to the end of its queue after one second, and is given up after more than 100 tries with nothing placed or more than 1,000 tries.',
];
