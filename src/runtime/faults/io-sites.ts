import type { FailRole } from './roles.ts';

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

/**
 * Every I/O in the sources of the roles. `npm run fail-points` finds the places and writes this file; what a place touches
 * is written here by hand, and a test holds it to what is seen in running roles.
 */
export const IO_SITES: readonly IoSite[] = [
  { at: 'arbiter/arbiter.ts', io: 'signer.sign', subjects: { arbiter: ['ticket'] } },
  { at: 'arbiter/foreign-grants.ts', io: 'store.list', subjects: { arbiter: ['allocs'] } },
  { at: 'arbiter/keeper.ts', io: 'store.attempt', calls: 2, subjects: { arbiter: ['keeper', 'roles'] } },
  { at: 'arbiter/keeper.ts', io: 'store.closeSession', calls: 2, subjects: { arbiter: ['session'] } },
  { at: 'arbiter/keeper.ts', io: 'store.openSession', subjects: { arbiter: ['session'] } },
  { at: 'host-agent/adoption.ts', io: 'processes.onEvent', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/allocation-run.ts', io: 'disk.makeFolder', subjects: { agent: ['work'] } },
  {
    at: 'host-agent/allocation-run.ts',
    io: 'disk.publish',
    calls: 3,
    subjects: { agent: ['outcome', 'released', 'verdict'] },
  },
  { at: 'host-agent/allocation-run.ts', io: 'disk.sizeOf', subjects: { agent: ['released'] } },
  { at: 'host-agent/allocation-run.ts', io: 'processes.killLeftovers', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/allocation-run.ts', io: 'processes.portsInUse', subjects: { agent: ['ports'] } },
  { at: 'host-agent/attempt.ts', io: 'disk.list', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/attempt.ts', io: 'disk.makeFolder', calls: 2, subjects: { agent: ['attempt'] } },
  {
    at: 'host-agent/attempt.ts',
    io: 'disk.publish',
    calls: 7,
    subjects: { agent: ['attempt-spec', 'claim', 'exit', 'launch'] },
  },
  { at: 'host-agent/attempt.ts', io: 'disk.sizeOf', calls: 2, subjects: { agent: ['exit', 'output'] } },
  { at: 'host-agent/attempt.ts', io: 'processes.answers', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/attempt.ts', io: 'processes.isAlive', subjects: { agent: ['process'] } },
  { at: 'host-agent/attempt.ts', io: 'processes.killLeftovers', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/attempt.ts', io: 'processes.startShim', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/gate.ts', io: 'verifier.verify', subjects: { agent: ['ticket'] } },
  {
    at: 'host-agent/journal.ts',
    io: 'disk.append',
    calls: 2,
    subjects: { agent: ['journal', 'quarantine'] },
  },
  { at: 'host-agent/journal.ts', io: 'disk.read', subjects: { agent: ['journal'] } },
  { at: 'host-agent/journal.ts', io: 'disk.replace', subjects: { agent: ['journal'] } },
  { at: 'host-agent/log-reader.ts', io: 'disk.list', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/log-reader.ts', io: 'disk.readRange', subjects: { agent: ['output'] } },
  { at: 'host-agent/log-reader.ts', io: 'disk.watch', subjects: { agent: ['attempt'] } },
  {
    at: 'host-agent/orphans.ts',
    io: 'disk.remove',
    calls: 2,
    subjects: { agent: ['allocation', 'attempt'] },
  },
  { at: 'host-agent/orphans.ts', io: 'processes.killLeftovers', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/orphans.ts', io: 'processes.killTree', subjects: { agent: ['attempt'] } },
  {
    at: 'host-agent/records.ts',
    io: 'disk.move',
    subjects: {
      agent: ['allocation-spec', 'attempt-spec', 'exit', 'identity', 'incarnation', 'outcome', 'verdict'],
    },
  },
  {
    at: 'host-agent/records.ts',
    io: 'disk.read',
    subjects: {
      agent: [
        'allocation-spec',
        'attempt-spec',
        'claim',
        'exit',
        'identity',
        'incarnation',
        'lock',
        'outcome',
        'started',
        'verdict',
      ],
    },
  },
  {
    at: 'host-agent/recovery.ts',
    io: 'disk.list',
    calls: 2,
    subjects: { agent: ['allocations', 'attempts'] },
  },
  { at: 'host-agent/recovery.ts', io: 'disk.remove', subjects: { agent: ['allocation'] } },
  { at: 'host-agent/registrar.ts', io: 'store.attempt', subjects: { agent: ['alive+hosts'] } },
  { at: 'host-agent/registrar.ts', io: 'store.closeSession', subjects: { agent: ['session'] } },
  { at: 'host-agent/registrar.ts', io: 'store.openSession', subjects: { agent: ['session'] } },
  { at: 'host-agent/registrar.ts', io: 'store.read', subjects: { agent: ['alive+hosts'] } },
  { at: 'host-agent/start-orders.ts', io: 'disk.freeBytes', subjects: { agent: ['all'] } },
  { at: 'host-agent/start-orders.ts', io: 'disk.publish', subjects: { agent: ['allocation-spec'] } },
  { at: 'host-agent/start-orders.ts', io: 'disk.remove', subjects: { agent: ['allocation'] } },
  { at: 'host-agent/start-orders.ts', io: 'processes.portsInUse', subjects: { agent: ['ports'] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.append', subjects: { agent: [] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.freeBytes', calls: 2, subjects: { agent: ['all'] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.list', subjects: { agent: [] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.makeFolder', subjects: { agent: [] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.move', subjects: { agent: [] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.publish', calls: 2, subjects: { agent: ['probe'] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.read', subjects: { agent: [] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.readRange', subjects: { agent: [] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.remove', calls: 4, subjects: { agent: ['probe', 'reserve'] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.replace', calls: 2, subjects: { agent: ['reserve'] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.sizeOf', calls: 3, subjects: { agent: ['reserve'] } },
  { at: 'host-agent/state-disk.ts', io: 'disk.watch', subjects: { agent: [] } },
  { at: 'host-agent/state-folder.ts', io: 'disk.list', calls: 2, subjects: { agent: ['locks'] } },
  {
    at: 'host-agent/state-folder.ts',
    io: 'disk.publish',
    calls: 3,
    subjects: { agent: ['identity', 'lock'] },
  },
  { at: 'host-agent/state-folder.ts', io: 'disk.remove', subjects: { agent: ['lock'] } },
  { at: 'host-agent/state-folder.ts', io: 'disk.replace', subjects: { agent: ['incarnation'] } },
  { at: 'host-agent/state-folder.ts', io: 'processes.isAlive', subjects: { agent: ['process'] } },
  {
    at: 'host-agent/stop-orders.ts',
    io: 'disk.remove',
    calls: 2,
    subjects: { agent: ['allocation', 'attempt'] },
  },
  { at: 'host-agent/task-run.ts', io: 'disk.remove', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/task-run.ts', io: 'disk.sizeOf', subjects: { agent: ['launch'] } },
  { at: 'host-agent/task-run.ts', io: 'processes.killTree', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/task-run.ts', io: 'processes.signal', subjects: { agent: ['attempt'] } },
  { at: 'host-agent/task-run.ts', io: 'processes.startShim', subjects: { agent: ['attempt'] } },
  { at: 'monitor/bulk-writes.ts', io: 'store.attempt', subjects: { monitor: ['jobs+versions'] } },
  { at: 'monitor/bulk-writes.ts', io: 'store.read', subjects: { monitor: ['jobs'] } },
  { at: 'monitor/cell-copy.ts', io: 'store.follow', subjects: { monitor: ['cell'] } },
  { at: 'monitor/job-writes.ts', io: 'store.attempt', subjects: { monitor: ['jobs', 'jobs+versions'] } },
  { at: 'monitor/job-writes.ts', io: 'store.read', subjects: { monitor: ['jobs'] } },
  { at: 'monitor/monitor.ts', io: 'server.close', subjects: { monitor: ['all'] } },
  { at: 'monitor/monitor.ts', io: 'server.listen', subjects: { monitor: ['all'] } },
  {
    at: 'monitor/reaper.ts',
    io: 'store.attempt',
    calls: 3,
    subjects: { monitor: ['allocs', 'jobs', 'jobs+runs', 'outcomes'] },
  },
  { at: 'monitor/registration.ts', io: 'store.attempt', subjects: { monitor: ['roles'] } },
  { at: 'monitor/registration.ts', io: 'store.closeSession', subjects: { monitor: ['session'] } },
  { at: 'monitor/registration.ts', io: 'store.openSession', subjects: { monitor: ['session'] } },
  { at: 'monitor/routes/health-routes.ts', io: 'store.read', subjects: { monitor: ['meta'] } },
  { at: 'monitor/routes/job-routes.ts', io: 'store.read', subjects: { monitor: ['jobs'] } },
  { at: 'monitor/runs.ts', io: 'store.attempt', subjects: { monitor: ['jobs+runs'] } },
  { at: 'monitor/scheduler-watch.ts', io: 'http.stream', subjects: { monitor: ['get.events'] } },
  { at: 'monitor/verdicts.ts', io: 'store.attempt', subjects: { monitor: ['eligibility+ledger'] } },
  { at: 'monitor/verdicts.ts', io: 'store.read', calls: 2, subjects: { monitor: ['eligibility+ledger'] } },
  { at: 'monitor/why.ts', io: 'http.call', subjects: { monitor: ['get.jobs.namespace.job.why'] } },
  { at: 'schedulers/decider.ts', io: 'store.attempt', subjects: { scheduler: ['outcomes'] } },
  { at: 'schedulers/evictor.ts', io: 'store.read', subjects: { scheduler: ['allocs'] } },
  { at: 'schedulers/job-index.ts', io: 'store.follow', subjects: { scheduler: ['jobs'] } },
  {
    at: 'schedulers/job-loader.ts',
    io: 'store.listMany',
    subjects: { scheduler: ['allocs+outcomes', 'allocs+outcomes+versions'] },
  },
  { at: 'schedulers/ownership.ts', io: 'store.attempt', calls: 2, subjects: { scheduler: ['owners'] } },
  { at: 'schedulers/releaser.ts', io: 'store.attempt', subjects: { scheduler: ['outcomes'] } },
  { at: 'schedulers/scheduler.ts', io: 'server.close', subjects: { scheduler: ['all'] } },
  { at: 'schedulers/scheduler.ts', io: 'server.listen', subjects: { scheduler: ['all'] } },
  { at: 'schedulers/scheduler.ts', io: 'store.attempt', subjects: { scheduler: ['roles'] } },
  { at: 'schedulers/scheduler.ts', io: 'store.closeSession', subjects: { scheduler: ['session'] } },
  { at: 'schedulers/scheduler.ts', io: 'store.openSession', subjects: { scheduler: ['session'] } },
  { at: 'schedulers/stopper.ts', io: 'store.attempt', subjects: { scheduler: ['allocs'] } },
  {
    at: 'src/clients/arbiter-client.ts',
    io: 'http.call',
    calls: 2,
    subjects: { scheduler: ['post.tickets'] },
  },
  {
    at: 'src/clients/host-client.ts',
    io: 'http.call',
    subjects: {
      scheduler: [
        'delete.allocations.id',
        'get.allocations',
        'get.allocations.id',
        'post.allocations.id.stop',
        'put.allocations.id',
      ],
      monitor: ['delete.allocations.id', 'get.allocations', 'get.allocations.id', 'post.allocations.id.stop'],
    },
  },
  {
    at: 'src/clients/host-client.ts',
    io: 'http.stream',
    subjects: { scheduler: [], monitor: ['get.allocations.id.logs'] },
  },
  { at: 'src/runtime/cell-meta.ts', io: 'store.attempt', subjects: { scheduler: ['meta'] } },
  { at: 'src/runtime/cell-meta.ts', io: 'store.read', subjects: { scheduler: ['meta'] } },
  {
    at: 'src/runtime/commit-attempt.ts',
    io: 'store.history',
    subjects: { scheduler: ['allocs'], monitor: ['allocs'] },
  },
  {
    at: 'src/runtime/committer.ts',
    io: 'store.attempt',
    subjects: {
      scheduler: ['allocs+ledger', 'allocs+ledger+outcomes'],
      monitor: ['allocs+ledger', 'allocs+ledger+outcomes'],
    },
  },
  {
    at: 'src/runtime/committer.ts',
    io: 'store.read',
    subjects: { scheduler: ['ledger'], monitor: ['ledger'] },
  },
  { at: 'src/runtime/ledger-feed.ts', io: 'store.follow', subjects: { scheduler: ['ledger'] } },
  {
    at: 'src/runtime/read-back.ts',
    io: 'store.attempt',
    subjects: { scheduler: ['ledger'], monitor: ['ledger'] },
  },
  {
    at: 'src/runtime/report-follower.ts',
    io: 'http.stream',
    subjects: { scheduler: ['get.reports'], agent: [], monitor: ['get.reports'], arbiter: ['get.reports'] },
  },
  {
    at: 'src/runtime/table.ts',
    io: 'store.follow',
    subjects: {
      scheduler: ['alive', 'eligibility', 'hosts', 'owners', 'roles', 'switches'],
      arbiter: ['keeper', 'quotas', 'roles', 'switches'],
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
