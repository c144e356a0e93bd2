/**
 * Every metric of Moorage: what its name and labels mean. `/metrics` shows these words, `docs/monitoring.md` is generated from
 * them, and the types refuse a name or label that is not here. Names follow Prometheus: base units, `_total` for counters.
 * Beside them each role shows `process_*` and `nodejs_*` of prom-client.
 */
export interface MetricMeaning {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

const counter = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ kind: 'counter', help, labels }) as const;
const gauge = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ kind: 'gauge', help, labels }) as const;
const histogram = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ kind: 'histogram', help, labels }) as const;

export const METRICS = {
  moorage_scheduler_jobs: gauge('Jobs that this scheduler owns.'),
  moorage_scheduler_pending_allocations: gauge('Allocations of its jobs that have no host yet.'),
  moorage_scheduler_longest_wait_seconds: gauge(
    'How long the allocations that have waited longest have had no host; 0: none waits.',
  ),
  moorage_scheduler_wait_seconds: histogram(
    'From when an allocation could be placed until a host was found: of each group that a decision placed, its first one.',
    'type',
  ),
  moorage_scheduler_decisions_failed_total: counter(
    'Decisions on one job that threw; it waits, with the error as its reason.',
  ),
  moorage_scheduler_decision_seconds: histogram('Deciding on one job, when hosts were sought.'),
  moorage_scheduler_decisions_total: counter('Groups of allocations for which hosts were sought.'),
  moorage_scheduler_claims_total: counter(
    'Claims by how their commit ended: committed, rebased (committed on a host that others had changed), conflicted (refused).',
    'outcome',
  ),
  moorage_scheduler_busy_seconds_total: counter('Time spent deciding.'),
  moorage_scheduler_tickets_refused_total: counter('Starts that an arbiter refused a ticket.'),
  moorage_scheduler_starts_refused_total: counter('Starts that a host refused.'),
  moorage_scheduler_commits_waiting: gauge('1: commits wait, since the store is full or away.'),
  moorage_budget_waiting: gauge('What waits in this process for a token of a budget of the cell.', 'kind'),
  moorage_budget_spent_total: counter('What this process spent tokens of budgets for.', 'kind'),
  moorage_commit_seconds: histogram('From sending a transaction to its answer.', 'outcome'),
  moorage_commit_window: gauge('Transactions that this process may have under way at once.'),
  moorage_commit_unknown_total: counter(
    'Transactions without an answer that were read back, and what was found.',
    'resolved',
  ),

  moorage_tickets_total: counter('Tickets asked for, by what the arbiter decided.', 'decision'),
  moorage_arbiter_grants: gauge('Grants that this arbiter holds open.'),

  moorage_monitor_hosts: gauge('Hosts that are registered.'),
  moorage_monitor_hosts_max: gauge('Hosts that this monitor can follow, by its limit of open files.'),
  moorage_monitor_followed_hosts: gauge(
    'Hosts that it hears of directly; of the others another monitor tells it.',
  ),
  moorage_monitor_unfollowed_hosts: gauge('Hosts that it does not follow, since it has reached that limit.'),
  moorage_monitor_host_silence_seconds: gauge(
    'After so long without a message a host counts as silent: three of the beats that this monitor asks for.',
  ),
  moorage_monitor_alarms: gauge('What somebody should look at (`moorage alarms`).', 'kind'),
  moorage_monitor_silent_hosts: gauge('Registered hosts whose session in etcd has ended.'),
  moorage_monitor_allocations: gauge('Allocations in etcd.'),
  moorage_monitor_reported_allocations: gauge('Allocations that hosts report.'),
  moorage_monitor_view_complete: gauge('1: every host has reported since this monitor started.'),
  moorage_monitor_readers: gauge('Streams that clients read.', 'stream'),
  moorage_monitor_reports_total: counter('Messages from hosts.', 'kind'),
  moorage_monitor_reaped_total: counter(
    'Records deleted: runs, jobs, versions, outcomes, claims of lost hosts, full buckets.',
    'what',
  ),
  moorage_monitor_reverts_total: counter('Updates that failed and were undone.'),
  moorage_monitor_verdicts: gauge('Revisions, hosts and others that are at fault now.'),
  moorage_monitor_verdicts_total: counter('Verdicts that a monitor made, by who is at fault.', 'kind'),
  moorage_monitor_undecided_faults: gauge('Failures that several of different kinds explain equally well.'),
  moorage_monitor_remedies_total: counter(
    'Remedies that a monitor applied, did not apply, or undid.',
    'remedy',
    'state',
  ),
  moorage_monitor_eligibility_changes_total: counter(
    'Hosts that a monitor closed or opened, by their new state.',
    'state',
  ),
  moorage_monitor_lost_hosts_held_back: gauge(
    'Silent hosts that are not declared lost, since too many went at once.',
  ),
  moorage_monitor_fences_awaited: gauge(
    'Fences of lost hosts that this monitor has a program for, and that have not confirmed yet.',
  ),
  moorage_monitor_fence_answers_total: counter(
    'Programs that were asked to fence a host, by fence, and whether they confirmed it.',
    'fence',
    'answer',
  ),
  moorage_monitor_leak_drains_held_back: gauge('Leaking hosts that are not drained, since too many leak.'),
  moorage_store_database_bytes: gauge("The largest member's database file."),
  moorage_store_in_use_bytes: gauge('Of the database, what is in use.'),
  moorage_store_quota_bytes: gauge('At this size etcd refuses writes.'),
  moorage_store_full: gauge('1: etcd refuses writes.'),

  moorage_host_allocations: gauge('Allocations that the agent keeps a record of.'),
  moorage_host_orders_refused_total: counter('Orders to start that the agent refused.', 'code'),
  moorage_host_steps_failed_total: counter(
    'Steps of an allocation that failed for the machine and are tried again.',
  ),
  moorage_host_checks_total: counter('Health checks that were made.'),
  moorage_host_checks_failed_total: counter('Health checks that did not pass.'),
  moorage_host_fetches_total: counter('Artifacts fetched.'),
  moorage_host_fetches_failed_total: counter('Fetches that failed.'),
  moorage_host_tasks_memory_bytes: gauge('Memory of all tasks.'),
  moorage_host_memory_stalled_percent: gauge(
    'Time that all tasks waited for memory, of the last ten seconds.',
  ),
  moorage_host_memory_kills_total: counter('Tasks ended, since the machine ran out of memory.'),
  moorage_host_disk_kills_total: counter('Tasks ended, since they wrote more than their limit.'),
  moorage_host_leaks: gauge('Things left behind that could not be removed.'),
  moorage_host_leaks_total: counter('Things found left behind.', 'kind'),
  moorage_host_strangers_total: counter('Ports and addresses in use that the agent lent to nobody.', 'kind'),
  moorage_host_leases_early_total: counter('Ports and addresses lent again before they had rested.', 'kind'),
  moorage_host_records_unreadable_total: counter('Records on the disk that could not be read.', 'kind'),
  moorage_host_dns_answers_total: counter('DNS answers.', 'code'),
  moorage_host_dns_dropped_total: counter('DNS questions that were dropped, since too many came.'),

  moorage_metric_samples_dropped_total: counter(
    'Samples that did not fit their metric: a fault of Moorage.',
    'metric',
  ),
} satisfies Readonly<Record<string, MetricMeaning>>;

export type MetricName = keyof typeof METRICS;
export type MetricOf<K extends MetricMeaning['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never;
}[MetricName];
export type LabelsOf<N extends MetricName> = Readonly<Record<(typeof METRICS)[N]['labels'][number], string>>;
