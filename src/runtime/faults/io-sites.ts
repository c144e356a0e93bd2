import type { FailRole } from './roles.ts';

/**
 * One function that does one kind of I/O, and what it touches there, for each role that comes this way: the source of the
 * fail-points' names. A role that never comes has an empty list.
 */
export interface IoSite {
  /** The file, and the function in it. */
  readonly at: string;
  /** `store.attempt` */
  readonly io: string;
  /** How often the function does it, when it is not once. */
  readonly calls?: number;
  readonly subjects: Readonly<Partial<Record<FailRole, readonly string[]>>>;
}

export interface IoRoute {
  readonly role: FailRole;
  readonly method: string;
  readonly path: string;
  readonly streams?: boolean;
}

/**
 * Every I/O in the sources of the roles. `npm run fail-points` finds the places and writes this file; what a place touches
 * is written here by hand, and a test holds it to what is seen in running roles.
 */
export const IO_SITES: readonly IoSite[] = [
  { at: 'arbiter/arbiter.ts Arbiter.#sign', io: 'signer.sign', subjects: { arbiter: ['ticket'] } },
  {
    at: 'arbiter/foreign-grants.ts ForeignGrants.#read',
    io: 'store.list',
    subjects: { arbiter: ['allocs'] },
  },
  { at: 'arbiter/keeper.ts Keeper.#keep', io: 'store.attempt', subjects: { arbiter: ['keeper'] } },
  { at: 'arbiter/keeper.ts Keeper.#register', io: 'store.attempt', subjects: { arbiter: ['roles'] } },
  { at: 'arbiter/keeper.ts Keeper.#run', io: 'store.closeSession', subjects: { arbiter: ['session'] } },
  { at: 'arbiter/keeper.ts Keeper.#run', io: 'store.openSession', subjects: { arbiter: ['session'] } },
  { at: 'arbiter/keeper.ts Keeper.close', io: 'store.closeSession', subjects: { arbiter: ['session'] } },
  {
    at: 'host-agent/agent.ts HostAgent.#accept',
    io: 'disk.publish',
    subjects: { agent: ['allocation-spec'] },
  },
  { at: 'host-agent/agent.ts HostAgent.#accept', io: 'disk.remove', subjects: { agent: ['allocation'] } },
  { at: 'host-agent/agent.ts HostAgent.#checkMachine', io: 'disk.freeBytes', subjects: { agent: ['all'] } },
  {
    at: 'host-agent/agent.ts HostAgent.#checkMachine',
    io: 'processes.portsInUse',
    subjects: { agent: ['ports'] },
  },
  {
    at: 'host-agent/agent.ts HostAgent.#clearOrphan',
    io: 'disk.remove',
    calls: 2,
    subjects: { agent: ['attempt', 'allocation'] },
  },
  {
    at: 'host-agent/agent.ts HostAgent.#clearOrphan',
    io: 'processes.killLeftovers',
    subjects: { agent: ['attempt'] },
  },
  {
    at: 'host-agent/agent.ts HostAgent.#clearOrphan',
    io: 'processes.killTree',
    subjects: { agent: ['attempt'] },
  },
  { at: 'host-agent/agent.ts HostAgent.#recover', io: 'processes.onEvent', subjects: { agent: ['attempt'] } },
  {
    at: 'host-agent/agent.ts HostAgent.#remove',
    io: 'disk.remove',
    calls: 2,
    subjects: { agent: ['attempt', 'allocation'] },
  },
  {
    at: 'host-agent/allocation-run.ts AllocationRun.#begin',
    io: 'disk.makeFolder',
    subjects: { agent: ['work'] },
  },
  {
    at: 'host-agent/allocation-run.ts AllocationRun.#finish',
    io: 'disk.publish',
    subjects: { agent: ['outcome'] },
  },
  {
    at: 'host-agent/allocation-run.ts AllocationRun.#giveVerdict',
    io: 'disk.publish',
    subjects: { agent: ['verdict'] },
  },
  {
    at: 'host-agent/allocation-run.ts AllocationRun.#release',
    io: 'disk.publish',
    subjects: { agent: ['released'] },
  },
  {
    at: 'host-agent/allocation-run.ts AllocationRun.#release',
    io: 'processes.killLeftovers',
    subjects: { agent: ['attempt'] },
  },
  {
    at: 'host-agent/allocation-run.ts AllocationRun.#release',
    io: 'processes.portsInUse',
    subjects: { agent: ['ports'] },
  },
  {
    at: 'host-agent/allocation-run.ts AllocationRun.recover',
    io: 'disk.sizeOf',
    subjects: { agent: ['released'] },
  },
  { at: 'host-agent/attempt.ts beginAttempt', io: 'disk.makeFolder', subjects: { agent: ['attempt'] } },
  {
    at: 'host-agent/attempt.ts beginAttempt',
    io: 'disk.publish',
    calls: 2,
    subjects: { agent: ['attempt-spec', 'launch'] },
  },
  { at: 'host-agent/attempt.ts beginAttempt', io: 'processes.startShim', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/attempt.ts checkShim', io: 'disk.sizeOf', subjects: { agent: ['exit'] } },
  { at: 'host-agent/attempt.ts checkShim', io: 'processes.answers', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/attempt.ts checkShim', io: 'processes.isAlive', subjects: { agent: ['process'] } },
  { at: 'host-agent/attempt.ts checkShim', io: 'processes.killLeftovers', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/attempt.ts endUnseen', io: 'disk.publish', subjects: { agent: ['exit'] } },
  { at: 'host-agent/attempt.ts fence', io: 'disk.publish', subjects: { agent: ['claim'] } },
  { at: 'host-agent/attempt.ts outputEnd', io: 'disk.list', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/attempt.ts outputEnd', io: 'disk.sizeOf', subjects: { agent: ['output'] } },
  { at: 'host-agent/gate.ts Gate.#verify', io: 'verifier.verify', subjects: { agent: ['ticket'] } },
  { at: 'host-agent/journal.ts Journal.#append', io: 'disk.append', subjects: { agent: ['journal'] } },
  { at: 'host-agent/journal.ts Journal.#putAway', io: 'disk.append', subjects: { agent: ['quarantine'] } },
  { at: 'host-agent/journal.ts Journal.#rewrite', io: 'disk.replace', subjects: { agent: ['journal'] } },
  { at: 'host-agent/journal.ts Journal.open', io: 'disk.read', subjects: { agent: ['journal'] } },
  { at: 'host-agent/log-reader.ts Hints.aim', io: 'disk.watch', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/log-reader.ts readAt', io: 'disk.readRange', subjects: { agent: ['output'] } },
  { at: 'host-agent/log-reader.ts segmentsOf', io: 'disk.list', subjects: { agent: ['attempt'] } },
  {
    at: 'host-agent/records.ts putAway',
    io: 'disk.move',
    subjects: {
      agent: ['allocation-spec', 'attempt-spec', 'exit', 'outcome', 'verdict', 'identity', 'incarnation'],
    },
  },
  {
    at: 'host-agent/records.ts readRecord',
    io: 'disk.read',
    subjects: {
      agent: [
        'allocation-spec',
        'attempt-spec',
        'exit',
        'started',
        'claim',
        'outcome',
        'verdict',
        'identity',
        'incarnation',
        'lock',
      ],
    },
  },
  { at: 'host-agent/recovery.ts findAll', io: 'disk.list', subjects: { agent: ['allocations'] } },
  { at: 'host-agent/recovery.ts findAll', io: 'disk.remove', subjects: { agent: ['allocation'] } },
  { at: 'host-agent/recovery.ts findAttempts', io: 'disk.list', subjects: { agent: ['attempts'] } },
  {
    at: 'host-agent/registrar.ts Registrar.#register',
    io: 'store.openSession',
    subjects: { agent: ['session'] },
  },
  {
    at: 'host-agent/registrar.ts Registrar.#registerSome',
    io: 'store.attempt',
    subjects: { agent: ['alive+hosts'] },
  },
  {
    at: 'host-agent/registrar.ts Registrar.#registerSome',
    io: 'store.read',
    subjects: { agent: ['alive+hosts'] },
  },
  {
    at: 'host-agent/registrar.ts Registrar.close',
    io: 'store.closeSession',
    subjects: { agent: ['session'] },
  },
  { at: 'host-agent/state-folder.ts highestLock', io: 'disk.list', subjects: { agent: ['locks'] } },
  { at: 'host-agent/state-folder.ts isHeld', io: 'processes.isAlive', subjects: { agent: ['process'] } },
  { at: 'host-agent/state-folder.ts openStateFolder', io: 'disk.publish', subjects: { agent: ['lock'] } },
  { at: 'host-agent/state-folder.ts readIdentity', io: 'disk.publish', subjects: { agent: ['identity'] } },
  {
    at: 'host-agent/state-folder.ts saveIncarnation',
    io: 'disk.replace',
    subjects: { agent: ['incarnation'] },
  },
  { at: 'host-agent/state-folder.ts takeLock', io: 'disk.list', subjects: { agent: ['locks'] } },
  { at: 'host-agent/state-folder.ts takeLock', io: 'disk.publish', subjects: { agent: ['lock'] } },
  { at: 'host-agent/state-folder.ts takeLock', io: 'disk.remove', subjects: { agent: ['lock'] } },
  { at: 'host-agent/task-run.ts TaskRun.#ask', io: 'disk.sizeOf', subjects: { agent: ['launch'] } },
  { at: 'host-agent/task-run.ts TaskRun.#ask', io: 'processes.startShim', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/task-run.ts TaskRun.#beginAttempt', io: 'disk.remove', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/task-run.ts TaskRun.stop', io: 'processes.killTree', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/task-run.ts TaskRun.stop', io: 'processes.signal', subjects: { agent: ['attempt'] } },
  {
    at: 'monitor/bulk-writes.ts BulkWrites.#attempt',
    io: 'store.attempt',
    subjects: { monitor: ['jobs+versions'] },
  },
  { at: 'monitor/bulk-writes.ts BulkWrites.#thoseThere', io: 'store.read', subjects: { monitor: ['jobs'] } },
  { at: 'monitor/cell-copy.ts CellCopy.constructor', io: 'store.follow', subjects: { monitor: ['cell'] } },
  { at: 'monitor/job-writes.ts JobWrites.#read', io: 'store.read', subjects: { monitor: ['jobs'] } },
  {
    at: 'monitor/job-writes.ts JobWrites.#write',
    io: 'store.attempt',
    subjects: { monitor: ['jobs', 'jobs+versions'] },
  },
  { at: 'monitor/monitor.ts Monitor.close', io: 'server.close', subjects: { monitor: ['all'] } },
  { at: 'monitor/monitor.ts Monitor.start', io: 'server.listen', subjects: { monitor: ['all'] } },
  {
    at: 'monitor/reaper.ts Reaper.#deleteOutcomes',
    io: 'store.attempt',
    subjects: { monitor: ['outcomes'] },
  },
  {
    at: 'monitor/reaper.ts Reaper.#dropRun',
    io: 'store.attempt',
    subjects: { monitor: ['jobs+runs', 'jobs'] },
  },
  { at: 'monitor/reaper.ts Reaper.#orderStop', io: 'store.attempt', subjects: { monitor: ['allocs'] } },
  {
    at: 'monitor/registration.ts Registration.#keep',
    io: 'store.closeSession',
    subjects: { monitor: ['session'] },
  },
  {
    at: 'monitor/registration.ts Registration.#keep',
    io: 'store.openSession',
    subjects: { monitor: ['session'] },
  },
  {
    at: 'monitor/registration.ts Registration.#register',
    io: 'store.attempt',
    subjects: { monitor: ['roles'] },
  },
  { at: 'monitor/routes/health-routes.ts storeAnswers', io: 'store.read', subjects: { monitor: ['meta'] } },
  { at: 'monitor/routes/job-routes.ts findJob', io: 'store.read', subjects: { monitor: ['jobs'] } },
  { at: 'monitor/runs.ts Runs.#attempt', io: 'store.attempt', subjects: { monitor: ['jobs+runs'] } },
  {
    at: 'monitor/scheduler-watch.ts SchedulerWatch.#follow',
    io: 'http.stream',
    subjects: { monitor: ['get.events'] },
  },
  {
    at: 'monitor/verdicts.ts Verdicts.#readBack',
    io: 'store.read',
    subjects: { monitor: ['eligibility+ledger'] },
  },
  {
    at: 'monitor/verdicts.ts Verdicts.give',
    io: 'store.attempt',
    subjects: { monitor: ['eligibility+ledger'] },
  },
  {
    at: 'monitor/verdicts.ts Verdicts.give',
    io: 'store.read',
    subjects: { monitor: ['eligibility+ledger'] },
  },
  {
    at: 'monitor/why.ts SchedulerQuestions.#ask',
    io: 'http.call',
    subjects: { monitor: ['get.jobs.namespace.job.why'] },
  },
  {
    at: 'schedulers/decider.ts Decider.#writeFailures',
    io: 'store.attempt',
    subjects: { scheduler: ['outcomes'] },
  },
  { at: 'schedulers/evictor.ts Evictor.#read', io: 'store.read', subjects: { scheduler: ['allocs'] } },
  {
    at: 'schedulers/job-index.ts JobIndex.constructor',
    io: 'store.follow',
    subjects: { scheduler: ['jobs'] },
  },
  {
    at: 'schedulers/job-loader.ts JobLoader.#read',
    io: 'store.listMany',
    subjects: { scheduler: ['allocs+outcomes', 'allocs+outcomes+versions'] },
  },
  { at: 'schedulers/ownership.ts Ownership.#take', io: 'store.attempt', subjects: { scheduler: ['owners'] } },
  {
    at: 'schedulers/ownership.ts Ownership.finish',
    io: 'store.attempt',
    subjects: { scheduler: ['owners'] },
  },
  {
    at: 'schedulers/releaser.ts Releaser.#prune',
    io: 'store.attempt',
    subjects: { scheduler: ['outcomes'] },
  },
  {
    at: 'schedulers/scheduler.ts Scheduler.#register',
    io: 'store.attempt',
    subjects: { scheduler: ['roles'] },
  },
  {
    at: 'schedulers/scheduler.ts Scheduler.#serveTerm',
    io: 'store.closeSession',
    subjects: { scheduler: ['session'] },
  },
  {
    at: 'schedulers/scheduler.ts Scheduler.#serveTerm',
    io: 'store.openSession',
    subjects: { scheduler: ['session'] },
  },
  { at: 'schedulers/scheduler.ts Scheduler.start', io: 'server.listen', subjects: { scheduler: ['all'] } },
  { at: 'schedulers/scheduler.ts Scheduler.stop', io: 'server.close', subjects: { scheduler: ['all'] } },
  { at: 'schedulers/stopper.ts Stopper.#mark', io: 'store.attempt', subjects: { scheduler: ['allocs'] } },
  {
    at: 'src/clients/arbiter-client.ts ArbiterClient.#ask',
    io: 'http.call',
    subjects: { scheduler: ['post.tickets'] },
  },
  { at: 'src/clients/arbiter-client.ts ArbiterClient.grants', io: 'http.call', subjects: { scheduler: [] } },
  {
    at: 'src/clients/host-client.ts HostClient.#call',
    io: 'http.call',
    subjects: {
      scheduler: [
        'put.allocations.id',
        'post.allocations.id.stop',
        'delete.allocations.id',
        'get.allocations',
        'get.allocations.id',
      ],
      monitor: ['post.allocations.id.stop', 'delete.allocations.id', 'get.allocations', 'get.allocations.id'],
    },
  },
  {
    at: 'src/clients/host-client.ts HostClient.logs',
    io: 'http.stream',
    subjects: { scheduler: [], monitor: ['get.allocations.id.logs'] },
  },
  { at: 'src/runtime/cell-meta.ts openMeta', io: 'store.attempt', subjects: { scheduler: ['meta'] } },
  { at: 'src/runtime/cell-meta.ts openMeta', io: 'store.read', subjects: { scheduler: ['meta'] } },
  {
    at: 'src/runtime/commit-attempt.ts wasCreated',
    io: 'store.history',
    subjects: { scheduler: ['allocs'], monitor: ['allocs'] },
  },
  {
    at: 'src/runtime/committer.ts Committer.#refresh',
    io: 'store.read',
    subjects: { scheduler: ['ledger'], monitor: ['ledger'] },
  },
  {
    at: 'src/runtime/committer.ts Committer.#run',
    io: 'store.attempt',
    subjects: {
      scheduler: ['allocs+ledger', 'allocs+ledger+outcomes'],
      monitor: ['allocs+ledger', 'allocs+ledger+outcomes'],
    },
  },
  {
    at: 'src/runtime/read-back.ts attemptOrNull',
    io: 'store.attempt',
    subjects: { scheduler: ['ledger'], monitor: ['ledger'] },
  },
  {
    at: 'src/runtime/report-follower.ts ReportFollower.#read',
    io: 'http.stream',
    subjects: { scheduler: ['get.reports'], agent: [], monitor: ['get.reports'], arbiter: ['get.reports'] },
  },
  {
    at: 'src/runtime/table.ts Table.constructor',
    io: 'store.follow',
    subjects: {
      scheduler: ['roles', 'owners', 'hosts', 'alive', 'ledger', 'eligibility', 'switches'],
      arbiter: ['roles', 'quotas', 'switches', 'keeper'],
    },
  },
];

/** Every route of every role. `streams`: it may answer with one. */
export const IO_ROUTES: readonly IoRoute[] = [
  { role: 'agent', method: 'DELETE', path: '/v1/allocations/:id' },
  { role: 'agent', method: 'GET', path: '/livez' },
  { role: 'agent', method: 'GET', path: '/metrics' },
  { role: 'agent', method: 'GET', path: '/readyz' },
  { role: 'agent', method: 'GET', path: '/v1/allocations' },
  { role: 'agent', method: 'GET', path: '/v1/allocations/:id' },
  { role: 'agent', method: 'GET', path: '/v1/allocations/:id/logs', streams: true },
  { role: 'agent', method: 'GET', path: '/v1/reports', streams: true },
  { role: 'agent', method: 'POST', path: '/v1/allocations/:id/stop' },
  { role: 'agent', method: 'PUT', path: '/v1/allocations/:id' },
  { role: 'arbiter', method: 'GET', path: '/livez' },
  { role: 'arbiter', method: 'GET', path: '/metrics' },
  { role: 'arbiter', method: 'GET', path: '/readyz' },
  { role: 'arbiter', method: 'GET', path: '/v1/grants' },
  { role: 'arbiter', method: 'POST', path: '/v1/tickets' },
  { role: 'monitor', method: 'GET', path: '/livez' },
  { role: 'monitor', method: 'GET', path: '/metrics' },
  { role: 'monitor', method: 'GET', path: '/readyz' },
  { role: 'monitor', method: 'GET', path: '/v1/allocations' },
  { role: 'monitor', method: 'GET', path: '/v1/events', streams: true },
  { role: 'monitor', method: 'GET', path: '/v1/hosts' },
  { role: 'monitor', method: 'GET', path: '/v1/jobs' },
  { role: 'monitor', method: 'GET', path: '/v1/jobs/:namespace/:job' },
  { role: 'monitor', method: 'GET', path: '/v1/jobs/:namespace/:job/exit' },
  { role: 'monitor', method: 'GET', path: '/v1/jobs/:namespace/:job/logs', streams: true },
  { role: 'monitor', method: 'GET', path: '/v1/jobs/:namespace/:job/why' },
  { role: 'monitor', method: 'GET', path: '/v1/reports', streams: true },
  { role: 'monitor', method: 'GET', path: '/v1/schedulers' },
  { role: 'monitor', method: 'GET', path: '/v1/schema/job.json' },
  { role: 'monitor', method: 'GET', path: '/version' },
  { role: 'monitor', method: 'POST', path: '/v1/hosts/:host/eligibility' },
  { role: 'monitor', method: 'POST', path: '/v1/jobs' },
  { role: 'monitor', method: 'POST', path: '/v1/jobs/:namespace/:job/stop' },
  { role: 'monitor', method: 'POST', path: '/v1/jobs/bulk' },
  { role: 'monitor', method: 'POST', path: '/v1/runs' },
  { role: 'scheduler', method: 'GET', path: '/livez' },
  { role: 'scheduler', method: 'GET', path: '/metrics', streams: true },
  { role: 'scheduler', method: 'GET', path: '/readyz' },
  { role: 'scheduler', method: 'GET', path: '/v1/events', streams: true },
  { role: 'scheduler', method: 'GET', path: '/v1/jobs/:namespace/:job/why' },
  { role: 'scheduler', method: 'GET', path: '/v1/status' },
];
