/**
 * Where everything lies in the store. Every prefix ends in a slash, so that no name can be the beginning of another.
 */
export interface CellKeys {
  readonly root: string;
  readonly meta: string;
  readonly hosts: string;
  readonly alive: string;
  readonly eligibility: string;
  readonly ledgers: string;
  readonly allocations: string;
  readonly jobs: string;
  readonly versions: string;
  readonly owners: string;
  readonly outcomes: string;
  readonly intents: string;
  readonly runs: string;
  readonly roles: string;
  readonly limits: string;
  /** What operators say that hosts share. */
  readonly shared: string;
  /** What is taken of each of its pools. */
  readonly pools: string;
  host(host: string): string;
  aliveOf(host: string): string;
  eligibilityOf(host: string): string;
  ledger(host: string): string;
  allocation(namespace: string, job: string, id: string): string;
  allocationsOf(namespace: string, job: string): string;
  job(namespace: string, job: string): string;
  version(namespace: string, job: string, version: number): string;
  owner(namespace: string, job: string): string;
  outcome(namespace: string, job: string, id: string): string;
  outcomesOf(namespace: string, job: string): string;
  intent(namespace: string, job: string, id: string): string;
  intentsOf(namespace: string, job: string): string;
  run(namespace: string, idempotencyKey: string): string;
  role(kind: string, id: string): string;
  /** @param pool `<resource>/<value>` */
  pool(pool: string): string;
  sharedResource(name: string): string;
  quota(namespace: string): string;
  switches: string;
  /** The arbiter that keeps the quotas, under its session. */
  quotaKeeper: string;
}

export function cellKeys(cell: string): CellKeys {
  const root = `/moorage/${cell}/`;
  const under = (room: string) => `${root}${room}/`;
  const hosts = under('hosts');
  const alive = under('alive');
  const eligibility = under('eligibility');
  const ledgers = under('ledger');
  const allocations = under('allocs');
  const jobs = under('jobs');
  const versions = under('versions');
  const owners = under('owners');
  const outcomes = under('outcomes');
  const intents = under('intents');
  const runs = under('runs');
  const roles = under('roles');
  const limits = under('limits');
  const shared = `${limits}shared/`;
  const pools = under('pools');
  return {
    root,
    meta: `${root}meta`,
    hosts,
    alive,
    eligibility,
    ledgers,
    allocations,
    jobs,
    versions,
    owners,
    outcomes,
    intents,
    runs,
    roles,
    limits,
    shared,
    pools,
    host: (host) => hosts + host,
    aliveOf: (host) => alive + host,
    eligibilityOf: (host) => eligibility + host,
    ledger: (host) => ledgers + host,
    allocation: (namespace, job, id) => `${allocations}${namespace}/${job}/${id}`,
    allocationsOf: (namespace, job) => `${allocations}${namespace}/${job}/`,
    job: (namespace, job) => `${jobs}${namespace}/${job}`,
    version: (namespace, job, version) =>
      `${versions}${namespace}/${job}/${String(version).padStart(6, '0')}`,
    owner: (namespace, job) => `${owners}${namespace}/${job}`,
    outcome: (namespace, job, id) => `${outcomes}${namespace}/${job}/${id}`,
    outcomesOf: (namespace, job) => `${outcomes}${namespace}/${job}/`,
    intent: (namespace, job, id) => `${intents}${namespace}/${job}/${id}`,
    intentsOf: (namespace, job) => `${intents}${namespace}/${job}/`,
    run: (namespace, idempotencyKey) => `${runs}${namespace}/${idempotencyKey}`,
    role: (kind, id) => `${roles}${kind}/${id}`,
    pool: (pool) => pools + pool,
    sharedResource: (name) => shared + name,
    quota: (namespace) => `${limits}quotas/${namespace}`,
    switches: `${limits}switches`,
    quotaKeeper: `${limits}keeper`,
  };
}
