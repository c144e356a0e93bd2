import type { FailRole } from './faults.ts';

/**
 * One file that does one kind of I/O, and what it touches there, for each role that comes this way: the source of the
 * fail-points' names. Empty: the role never comes, or what is touched is named where the call comes from.
 */
export interface IoSite {
  readonly at: string;
  /** `store.attempt` */
  readonly io: string;
  /** How often it stands there, when it is not once. */
  readonly calls?: number;
  readonly subjects: Readonly<Partial<Record<FailRole, readonly string[]>>>;
}

export interface IoRoute {
  readonly role: FailRole;
  readonly method: string;
  readonly path: string;
  readonly streams?: boolean;
}

function linesOf(text: string): string[][] {
  const lines = text.trim().split('\n');
  return lines.map((line) => line.split(' '));
}

function siteOf([at = '', what = '', ...roles]: readonly string[]): IoSite {
  const [io = '', calls] = what.split('*');
  const subjects = roles.map((text) => {
    const [role = '', named = ''] = text.split(':');
    return [role, named === '' ? [] : named.split(',')] as const;
  });
  return {
    at,
    io,
    ...(calls === undefined ? {} : { calls: Number(calls) }),
    subjects: Object.fromEntries(subjects),
  };
}

function routeOf([role, method = '', path = '', streams]: readonly string[]): IoRoute {
  return { role: role as FailRole, method, path, ...(streams === undefined ? {} : { streams: true }) };
}

/**
 * Every I/O in the sources of the roles: the file, the call and how often it stands there, and for each role what it touches.
 * `npm run fail-points` finds the places and writes this file; what a place touches is written here by hand, and a test holds
 * it to what is seen in running roles.
 */
export const IO_SITES: readonly IoSite[] = linesOf(`
arbiter/arbiter.ts signer.sign arbiter:ticket
arbiter/grant-records.ts store.attempt arbiter:grants
arbiter/peer-grants.ts store.list*2 arbiter:allocs,grants
arbiter/peer-grants.ts store.read arbiter:outcomes
arbiter/quota-keeper.ts store.attempt*2 arbiter:keeper,roles
arbiter/quota-keeper.ts store.closeSession*2 arbiter:session
arbiter/quota-keeper.ts store.openSession arbiter:session
host-agent/allocations/allocations.ts disk.makeFolder agent:work
host-agent/allocations/allocations.ts disk.publish*2 agent:outcome,released
host-agent/allocations/allocations.ts disk.sizeOf agent:released
host-agent/allocations/allocations.ts processes.addressesInUse agent:addresses
host-agent/allocations/allocations.ts processes.killLeftovers agent:attempt
host-agent/allocations/allocations.ts processes.portsInUse agent:ports
host-agent/allocations/stop-reason.ts disk.publish agent:verdict
host-agent/api/registration.ts store.attempt agent:alive+hosts
host-agent/api/registration.ts store.closeSession agent:session
host-agent/api/registration.ts store.openSession agent:session
host-agent/api/registration.ts store.read agent:alive+hosts
host-agent/artifacts/artifacts.ts artifacts.fetch agent:artifact
host-agent/artifacts/artifacts.ts disk.list*2 agent:cas
host-agent/artifacts/artifacts.ts disk.makeFolder agent:cas
host-agent/artifacts/artifacts.ts disk.move agent:cas
host-agent/artifacts/artifacts.ts disk.remove*4 agent:cas
host-agent/artifacts/artifacts.ts disk.sizeOf agent:cas
host-agent/drivers/derived-folders.ts disk.list agent:cas
host-agent/drivers/derived-folders.ts disk.makeFolder*2 agent:cas
host-agent/drivers/derived-folders.ts disk.move agent:cas
host-agent/drivers/derived-folders.ts disk.remove*3 agent:cas
host-agent/drivers/drivers.ts cgroups.mounts agent:all
host-agent/drivers/drivers.ts commands.run agent:program
host-agent/drivers/exec.ts commands.run agent:program
host-agent/drivers/exec.ts disk.makeFolder agent:artifacts
host-agent/drivers/exec.ts disk.remove agent:artifacts
host-agent/drivers/images.ts disk.makeFolder*2 agent:cas
host-agent/drivers/images.ts disk.publish agent:cas
host-agent/drivers/images.ts disk.read*3 agent:cas
host-agent/drivers/images.ts disk.remove agent:cas
host-agent/drivers/isolation.ts commands.run agent:program
host-agent/drivers/isolation.ts disk.makeFolder agent:trial
host-agent/drivers/isolation.ts disk.remove agent:trial
host-agent/drivers/oci-runtime.ts commands.run*5 agent:program
host-agent/drivers/oci-runtime.ts disk.makeFolder*2 agent:oci
host-agent/drivers/oci-runtime.ts disk.publish agent:oci
host-agent/drivers/oci-runtime.ts disk.remove*2 agent:oci
host-agent/drivers/oci.ts commands.run*2 agent:program
host-agent/drivers/oci.ts disk.list*4 agent:oci
host-agent/drivers/oci.ts disk.makeFolder*2 agent:layers,oci
host-agent/drivers/oci.ts disk.publish agent:oci
host-agent/drivers/oci.ts disk.remove*4 agent:layers,oci
host-agent/drivers/sandbox.ts commands.run*2 agent:program
host-agent/drivers/task-secrets.ts commands.run*2 agent:program
host-agent/drivers/task-secrets.ts disk.list*2 agent:secrets
host-agent/drivers/task-secrets.ts disk.makeFolder agent:secrets
host-agent/drivers/task-secrets.ts disk.publish agent:secrets
host-agent/drivers/task-secrets.ts disk.remove*2 agent:secrets
host-agent/drivers/toolbox.ts commands.run agent:program
host-agent/drivers/user-namespaces.ts commands.run agent:program
host-agent/drivers/user-namespaces.ts disk.list agent:allocation
host-agent/drivers/user-namespaces.ts disk.remove agent:layers
host-agent/io/input.ts link.endStdin agent:shim
host-agent/io/input.ts link.writeStdin agent:shim
host-agent/io/io.ts link.resize agent:shim
host-agent/io/io.ts link.state agent:shim
host-agent/io/log-reader.ts disk.list agent:attempt
host-agent/io/log-reader.ts disk.readRange agent:output
host-agent/io/log-reader.ts disk.watch agent:attempt
host-agent/io/output.ts disk.list agent:attempt,exec
host-agent/io/output.ts disk.readRange agent:exec,output
host-agent/io/output.ts disk.watch agent:attempt,exec
host-agent/io/shim-links.ts processes.open agent:attempt
host-agent/io/signals.ts disk.append agent:cmds.wal
host-agent/io/signals.ts disk.read*2 agent:acks,cmds.wal
host-agent/io/signals.ts disk.replace agent:cmds.wal
host-agent/io/signals.ts link.signal*2 agent:shim
host-agent/io/signals.ts link.state agent:shim
host-agent/io/signals.ts processes.open*2 agent:attempt
host-agent/leaks/find-leaks.ts disk.list*5 agent:all,allocations,attempts,events
host-agent/leaks/find-leaks.ts disk.remove*3 agent:allocation,events,temporary
host-agent/leaks/find-leaks.ts processes.addressesInUse agent:addresses
host-agent/leaks/find-leaks.ts processes.killLeftovers agent:attempt
host-agent/leaks/find-leaks.ts processes.killMarked agent:attempt
host-agent/leaks/find-leaks.ts processes.killTree agent:attempt
host-agent/leaks/find-leaks.ts processes.marked agent:attempt
host-agent/leaks/find-leaks.ts processes.portsInUse agent:ports
host-agent/leases/lease-store.ts disk.list*2 agent:leases
host-agent/leases/lease-store.ts disk.publish*2 agent:leases
host-agent/leases/lease-store.ts disk.read*2 agent:leases
host-agent/leases/lease-store.ts disk.remove*4 agent:leases
host-agent/leases/leases.ts processes.addressesInUse agent:addresses
host-agent/leases/mapped-ids.ts commands.run agent:program
host-agent/leases/task-users.ts disk.read agent:leases
host-agent/leases/task-users.ts disk.replace agent:leases
host-agent/limits/control-groups.ts cgroups.deviceOf agent:folder
host-agent/limits/control-groups.ts cgroups.killListed agent:group
host-agent/limits/control-groups.ts cgroups.list*2 agent:group
host-agent/limits/control-groups.ts cgroups.make*2 agent:group
host-agent/limits/control-groups.ts cgroups.mounts agent:all
host-agent/limits/control-groups.ts cgroups.read*7 agent:file
host-agent/limits/control-groups.ts cgroups.remove*3 agent:group
host-agent/limits/control-groups.ts cgroups.write*3 agent:file
host-agent/limits/shim-groups.ts cgroups.make agent:group
host-agent/limits/shim-groups.ts cgroups.mounts agent:all
host-agent/names/host-names.ts http.close agent:all
host-agent/names/task-endpoints.ts disk.hand agent:work
host-agent/names/task-endpoints.ts disk.read agent:endpoints
host-agent/names/task-endpoints.ts disk.replace agent:endpoints
host-agent/network/control-plane.ts store.list agent:hosts
host-agent/network/network.ts commands.run*5 agent:program
host-agent/orders/admission.ts verifier.verify agent:ticket
host-agent/orders/commands.ts disk.sizeOf agent:exec
host-agent/orders/commands.ts processes.exec agent:attempt
host-agent/orders/epochs.ts store.read agent:eligibility+meta
host-agent/orders/orderer.ts store.read agent:allocs+owners
host-agent/orders/orders.ts disk.publish agent:allocation-spec
host-agent/orders/orders.ts disk.remove agent:allocation
host-agent/orders/orders.ts processes.portsInUse agent:ports
host-agent/orders/stop-orders.ts disk.list agent:exec
host-agent/orders/stop-orders.ts disk.remove agent:allocation
host-agent/pressure/disk-usage.ts commands.run agent:program
host-agent/pressure/memory-pressure.ts cgroups.pressure agent:all
host-agent/recovery/findings.ts disk.list*2 agent:allocations,attempts
host-agent/recovery/findings.ts disk.remove agent:allocation
host-agent/recovery/orphans.ts disk.remove agent:allocation
host-agent/recovery/orphans.ts processes.killLeftovers agent:attempt
host-agent/recovery/orphans.ts processes.killTree agent:attempt
host-agent/recovery/recovery.ts disk.list agent:exec
host-agent/recovery/recovery.ts processes.onEvent agent:attempt
host-agent/state/journal.ts disk.append*2 agent:journal,quarantine
host-agent/state/journal.ts disk.read agent:journal
host-agent/state/journal.ts disk.replace agent:journal
host-agent/state/records.ts disk.move agent:allocation-spec,attempt-spec,exit,identity,incarnation,outcome,verdict
host-agent/state/records.ts disk.read agent:allocation-spec,attempt-spec,claim,exit,identity,incarnation,lock,outcome,started,stopping,verdict
host-agent/state/state-disk.ts disk.append agent:
host-agent/state/state-disk.ts disk.freeBytes*3 agent:all
host-agent/state/state-disk.ts disk.hand agent:
host-agent/state/state-disk.ts disk.list agent:
host-agent/state/state-disk.ts disk.makeFolder agent:
host-agent/state/state-disk.ts disk.move agent:
host-agent/state/state-disk.ts disk.publish*2 agent:probe
host-agent/state/state-disk.ts disk.read agent:
host-agent/state/state-disk.ts disk.readRange agent:
host-agent/state/state-disk.ts disk.remove*4 agent:probe,reserve
host-agent/state/state-disk.ts disk.replace*2 agent:reserve
host-agent/state/state-disk.ts disk.sizeOf*3 agent:reserve
host-agent/state/state-disk.ts disk.watch agent:
host-agent/state/state.ts disk.list*2 agent:locks
host-agent/state/state.ts disk.publish*3 agent:identity,lock
host-agent/state/state.ts disk.remove agent:lock
host-agent/state/state.ts disk.replace agent:incarnation
host-agent/state/state.ts processes.isAlive agent:process
host-agent/tasks/attempt-commands.ts disk.list agent:exec
host-agent/tasks/attempt-commands.ts processes.killTree agent:attempt
host-agent/tasks/attempt.ts disk.list*2 agent:attempt,exec
host-agent/tasks/attempt.ts disk.makeFolder*2 agent:attempt
host-agent/tasks/attempt.ts disk.publish*7 agent:attempt-spec,claim,exit,launch
host-agent/tasks/attempt.ts disk.remove*2 agent:attempt,exec,launch
host-agent/tasks/attempt.ts disk.sizeOf*2 agent:exit,output
host-agent/tasks/attempt.ts processes.answers agent:attempt
host-agent/tasks/attempt.ts processes.isAlive agent:process
host-agent/tasks/attempt.ts processes.killLeftovers agent:attempt
host-agent/tasks/attempt.ts processes.startShim agent:attempt
host-agent/tasks/check-probe.ts disk.list agent:exec
host-agent/tasks/check-probe.ts disk.readRange agent:exec
host-agent/tasks/check-probe.ts disk.remove agent:work
host-agent/tasks/check-probe.ts disk.sizeOf agent:work
host-agent/tasks/check-probe.ts probes.http agent:service
host-agent/tasks/check-probe.ts probes.tcp agent:service
host-agent/tasks/check-probe.ts processes.exec agent:attempt
host-agent/tasks/check-probe.ts processes.killTree*2 agent:attempt
host-agent/tasks/check-probe.ts processes.onEvent agent:attempt
host-agent/tasks/checks.ts disk.replace agent:health
host-agent/tasks/health.ts disk.publish agent:unhealthy
host-agent/tasks/tasks.ts disk.sizeOf agent:launch
host-agent/tasks/tasks.ts link.renew agent:shim
host-agent/tasks/tasks.ts processes.killTree agent:attempt
host-agent/tasks/tasks.ts processes.open agent:attempt
host-agent/tasks/tasks.ts processes.signal agent:attempt
host-agent/tasks/tasks.ts processes.startShim agent:attempt
host-agent/volumes/attachments.ts disk.list*2 agent:attachments
host-agent/volumes/attachments.ts disk.publish agent:attachments
host-agent/volumes/attachments.ts disk.remove agent:attachments
host-agent/volumes/volume-driver.ts commands.run*2 agent:program
host-agent/volumes/volumes.ts commands.run agent:program
host-agent/volumes/volumes.ts disk.list*2 agent:volumes
host-agent/volumes/volumes.ts disk.makeFolder agent:volumes
host-agent/volumes/volumes.ts disk.remove agent:volumes
monitor/api/health-routes.ts store.read monitor:meta
monitor/api/min-revision.ts store.read monitor:meta
monitor/api/requests.ts store.read monitor:jobs
monitor/audit/audit.ts store.attempt*2 monitor:audit
monitor/audit/audit.ts store.list monitor:audit
monitor/detector/closed-hosts.ts store.attempt monitor:closed
monitor/detector/verdicts.ts store.attempt monitor:verdicts
monitor/events/scheduler-events.ts http.stream monitor:get.events
monitor/hosts/eligibility.ts store.attempt*2 monitor:eligibility+ledger
monitor/hosts/eligibility.ts store.read*3 monitor:alive+eligibility+ledger
monitor/hosts/fencing.ts commands.run monitor:program
monitor/hosts/fencing.ts store.read monitor:alive+eligibility
monitor/hosts/removed-hosts.ts store.attempt monitor:hosts
monitor/jobs/bulk-writes.ts store.attempt monitor:jobs+versions
monitor/jobs/bulk-writes.ts store.read monitor:jobs
monitor/jobs/job-writes.ts store.attempt monitor:jobs,jobs+versions
monitor/jobs/job-writes.ts store.read monitor:jobs
monitor/limits/limits.ts store.attempt monitor:quotas,remedies,shared
monitor/limits/pauses.ts store.attempt monitor:pauses
monitor/limits/quotas.ts store.list monitor:quotas
monitor/limits/shared-resources.ts store.list monitor:shared
monitor/limits/volumes.ts store.attempt monitor:pools
monitor/limits/volumes.ts store.read monitor:pools
monitor/monitor.ts server.close monitor:all
monitor/monitor.ts server.listen monitor:all
monitor/reaper/full-buckets.ts store.attempt monitor:buckets
monitor/reaper/leftovers.ts store.attempt monitor:allocs
monitor/reaper/retention.ts store.attempt*2 monitor:jobs,jobs+runs,outcomes,versions
monitor/runs/runs.ts store.attempt monitor:jobs+runs
monitor/store/registration.ts store.attempt monitor:roles
monitor/store/registration.ts store.closeSession monitor:session
monitor/store/registration.ts store.openSession monitor:session
monitor/store/store.ts store.oldestRevision monitor:cell
monitor/store/store.ts upkeep.close monitor:database
monitor/store/store.ts upkeep.compact monitor:database
monitor/store/store.ts upkeep.defragment monitor:database
monitor/store/store.ts upkeep.disarm monitor:database
monitor/store/store.ts upkeep.measure*3 monitor:database
monitor/tokens/held-tokens.ts store.read monitor:tokens
monitor/tokens/invitations.ts store.attempt*3 monitor:invitations
monitor/tokens/invitations.ts store.list monitor:invitations
monitor/tokens/invitations.ts store.read monitor:invitations
monitor/tokens/openid-providers.ts store.attempt monitor:openid
monitor/tokens/openid-providers.ts store.list monitor:openid
monitor/tokens/openid-providers.ts store.read monitor:openid
monitor/tokens/secrets.ts store.attempt monitor:secrets
monitor/tokens/secrets.ts store.list monitor:secrets
monitor/tokens/secrets.ts store.read monitor:secrets
monitor/tokens/tokens.ts store.attempt monitor:tokens
monitor/tokens/tokens.ts store.list monitor:tokens
monitor/tokens/tokens.ts store.read monitor:tokens
monitor/view/view.ts store.follow monitor:cell
schedulers/ownership/job-claims.ts store.attempt scheduler:owners
schedulers/ownership/job-index.ts store.follow scheduler:jobs
schedulers/ownership/job-intake.ts store.read scheduler:allocs+intents
schedulers/ownership/job-loader.ts store.listMany scheduler:allocs+intents+outcomes,allocs+intents+outcomes+versions,allocs+outcomes
schedulers/ownership/ownership.ts store.attempt scheduler:owners
schedulers/plan/scratch-term.ts store.follow scheduler:
schedulers/plan/scratch-term.ts store.history scheduler:
schedulers/plan/scratch-term.ts store.list scheduler:
schedulers/plan/scratch-term.ts store.listMany scheduler:
schedulers/plan/scratch-term.ts store.oldestRevision scheduler:
schedulers/plan/scratch-term.ts store.read scheduler:allocs
schedulers/preemption/victim-reader.ts store.read scheduler:allocs
schedulers/scheduler.ts server.close scheduler:all
schedulers/scheduler.ts server.listen scheduler:all
schedulers/scheduler.ts store.attempt scheduler:roles
schedulers/scheduler.ts store.closeSession scheduler:session
schedulers/scheduler.ts store.openSession scheduler:session
schedulers/state/owner-write.ts store.attempt scheduler:allocs,outcomes
src/clients/arbiter-client.ts http.call*3 scheduler:post.tickets agent:post.fetch-slices arbiter:get.grants
src/clients/host-client.ts http.call*2 scheduler:delete.allocations.id,get.allocations,get.allocations.id,post.allocations.id.stop,put.allocations.id monitor:delete.allocations.id,get.allocations,get.allocations.id,get.allocations.id.exec.command,get.usage,post.allocations.id.exec,post.allocations.id.signal,post.allocations.id.stop
src/clients/host-client.ts http.stream scheduler: monitor:get.allocations.id.logs
src/clients/monitor-failover.ts http.call agent:
src/clients/monitor-failover.ts http.stream agent:post.names.follow
src/clients/scheduler-client.ts http.call*3 monitor:get.jobs.namespace.job.why,get.status,post.plan
src/clients/scheduler-client.ts http.stream monitor:
src/runtime/commit/attempt.ts store.history scheduler:allocs monitor:allocs
src/runtime/commit/commit.ts store.attempt scheduler:allocs+ledger,allocs+ledger+outcomes,allocs+ledger+outcomes+pools,allocs+ledger+owners,allocs+ledger+owners+pools,allocs+ledger+pools monitor:allocs+ledger,allocs+ledger+outcomes,allocs+ledger+outcomes+pools,allocs+ledger+pools
src/runtime/commit/commit.ts store.read scheduler:ledger,ledger+pools monitor:ledger,ledger+pools
src/runtime/commit/gang-intent.ts store.attempt*2 scheduler:intents monitor:intents
src/runtime/commit/gang-intent.ts store.list scheduler:allocs monitor:allocs
src/runtime/commit/gang-intent.ts store.read*2 scheduler:intents monitor:intents
src/runtime/commit/read-back.ts store.attempt scheduler:intents,ledger monitor:ledger
src/runtime/records/cell-meta.ts store.attempt*2 scheduler:meta
src/runtime/records/cell-meta.ts store.read*2 scheduler:meta
src/runtime/records/change-record.ts store.attempt scheduler:buckets monitor:buckets,pauses,remedy-budget,verdicts
src/runtime/records/change-record.ts store.read scheduler:buckets monitor:buckets,pauses,remedy-budget,verdicts
src/runtime/records/ledger-feed.ts store.follow scheduler:ledger
src/runtime/records/records.ts store.follow scheduler:alive,budgets,eligibility,hosts,meta,owners,pauses,pools,roles,secrets,shared agent:pauses,roles monitor: arbiter:keeper,pauses,quotas,roles,shared
src/runtime/reports/stream-reader.ts http.stream scheduler:get.reports monitor:get.reports arbiter:get.reports
`).map(siteOf);

/** Every route of every role. `streams`: it may answer with one. */
export const IO_ROUTES: readonly IoRoute[] = linesOf(`
agent DELETE /v1/allocations/:id
agent DELETE /v1/volumes/:namespace/:claim/:data
agent GET /livez
agent GET /metrics
agent GET /readyz
agent GET /v1/allocations
agent GET /v1/allocations/:id
agent GET /v1/allocations/:id/exec/:command
agent GET /v1/allocations/:id/logs streams
agent GET /v1/reports streams
agent GET /v1/usage
agent POST /v1/allocations/:id/exec
agent POST /v1/allocations/:id/signal
agent POST /v1/allocations/:id/stop
agent PUT /v1/allocations/:id
arbiter GET /livez
arbiter GET /metrics
arbiter GET /readyz
arbiter GET /v1/grants
arbiter POST /v1/fetch-slices
arbiter POST /v1/tickets
monitor DELETE /v1/hosts/:host
monitor DELETE /v1/invitations/:id
monitor DELETE /v1/jobs/:namespace/:job
monitor DELETE /v1/openid/:name
monitor DELETE /v1/pauses/:what
monitor DELETE /v1/quotas/:namespace
monitor DELETE /v1/secrets/:namespace/:name
monitor DELETE /v1/shared/:name
monitor DELETE /v1/tokens/:id
monitor DELETE /v1/verdicts
monitor DELETE /v1/volumes/:namespace/:claim
monitor GET /
monitor GET /docs
monitor GET /livez
monitor GET /metrics
monitor GET /page/:file
monitor GET /readyz
monitor GET /v1/alarms
monitor GET /v1/allocations
monitor GET /v1/allocations/:id/exec/:command
monitor GET /v1/audit
monitor GET /v1/budgets
monitor GET /v1/cell
monitor GET /v1/events streams
monitor GET /v1/hosts
monitor GET /v1/hosts/:host
monitor GET /v1/invitations
monitor GET /v1/jobs
monitor GET /v1/jobs/:namespace/:job
monitor GET /v1/jobs/:namespace/:job/exit
monitor GET /v1/jobs/:namespace/:job/logs streams
monitor GET /v1/jobs/:namespace/:job/why
monitor GET /v1/metrics/targets
monitor GET /v1/names
monitor GET /v1/names/:name
monitor GET /v1/openapi.json
monitor GET /v1/openid
monitor GET /v1/pauses
monitor GET /v1/quotas
monitor GET /v1/remedies
monitor GET /v1/reports streams
monitor GET /v1/schedulers
monitor GET /v1/schema/job.json
monitor GET /v1/secrets
monitor GET /v1/secrets-key
monitor GET /v1/tokens
monitor GET /v1/usage
monitor GET /v1/verdicts
monitor GET /v1/volumes
monitor GET /v1/whoami
monitor GET /version
monitor POST /v1/allocations/:id/exec
monitor POST /v1/allocations/:id/signal
monitor POST /v1/hosts/:host/eligibility
monitor POST /v1/hosts/:host/fences
monitor POST /v1/hosts/:host/labels
monitor POST /v1/invitations
monitor POST /v1/jobs
monitor POST /v1/jobs/:namespace/:job/stop
monitor POST /v1/jobs/bulk
monitor POST /v1/join
monitor POST /v1/names/follow
monitor POST /v1/plan
monitor POST /v1/runs
monitor POST /v1/tokens
monitor PUT /v1/budgets
monitor PUT /v1/openid/:name
monitor PUT /v1/pauses/:what
monitor PUT /v1/quotas/:namespace
monitor PUT /v1/remedies
monitor PUT /v1/secrets/:namespace/:name
monitor PUT /v1/shared/:name
scheduler GET /livez
scheduler GET /metrics streams
scheduler GET /readyz
scheduler GET /v1/events streams
scheduler GET /v1/jobs/:namespace/:job/why
scheduler GET /v1/status
scheduler POST /v1/plan
`).map(routeOf);
