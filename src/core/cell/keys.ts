export type CellKeys = ReturnType<typeof cellKeys>;

/** The key of every record of the cell. Prefixes end in a slash, so that no name can be the beginning of another. */
export function cellKeys(cell: string) {
  const root = `/moorage/${cell}/`;
  const hosts = `${root}hosts/`;
  const alive = `${root}alive/`;
  const eligibility = `${root}eligibility/`;
  const ledgers = `${root}ledger/`;
  const allocations = `${root}allocs/`;
  const jobs = `${root}jobs/`;
  const versions = `${root}versions/`;
  const owners = `${root}owners/`;
  const outcomes = `${root}outcomes/`;
  const rollouts = `${root}rollouts/`;
  const intents = `${root}intents/`;
  const runs = `${root}runs/`;
  const roles = `${root}roles/`;
  const limits = `${root}limits/`;
  /** What operators have paused, and where. */
  const pauses = `${root}pauses/`;
  /** Who is at fault, by suspect. */
  const verdicts = `${root}verdicts/`;
  /** Which hosts of each pool are closed for verdicts. */
  const closedHosts = `${root}closed/`;
  /** What operators define as shared by hosts. */
  const shared = `${limits}shared/`;
  /** What is left of each budget. */
  const buckets = `${root}buckets/`;
  /** What is taken of each of its pools. */
  const pools = `${root}pools/`;
  /** What nobody but arbiters reads: outside of the root, which monitors watch as a whole. No cell's name has a dot. */
  const arbiters = `/moorage/${cell}.arbiters/`;
  const grants = `${arbiters}grants/`;
  /** What is known of people's tokens: monitors read and write it, nobody else. */
  const tokens = `${root}tokens/`;
  /** Whose tokens count beside those. */
  const openid = `${root}openid/`;
  const audit = `${root}audit/`;
  /** Hosts that may join. */
  const invitations = `${root}invitations/`;
  /** Where the holder of a certificate finds it renewed. */
  const certificates = `${root}certificates/`;
  const secrets = `${root}secrets/`;
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
    rollouts,
    intents,
    runs,
    roles,
    limits,
    pauses,
    /** @param name `placement/job/team-a/web` */
    pause: (name: string) => pauses + name,
    verdicts,
    /** @param suspect `host/host-1` */
    verdict: (suspect: string) => verdicts + suspect,
    /** What is done about them. */
    remedies: `${root}remedies`,
    /** How many of them the cell had within an hour. */
    remedyBudget: `${root}remedy-budget`,
    /** What the cell may do of its own accord. */
    budgets: `${limits}budgets`,
    buckets,
    /** @param name `moves`; of a failure domain `moves/rack/r1`, with nothing after the last slash for hosts without that attribute */
    bucket: (name: string) => buckets + name,
    closedHosts,
    /** @param pool empty: of the hosts that name none */
    closedHostsOf: (pool: string) => `${closedHosts}pool/${pool}`,
    shared,
    pools,
    arbiters,
    grants,
    tokens,
    token: (id: string) => tokens + id,
    openid,
    openidProvider: (name: string) => openid + name,
    audit,
    secrets,
    secretsOf: (namespace: string) => `${secrets}${namespace}/`,
    secret: (namespace: string, name: string) => `${secrets}${namespace}/${name}`,
    auditRecord: (id: string) => audit + id,
    invitations,
    invitation: (id: string) => invitations + id,
    certificates,
    certificate: (role: string, id: string) => `${certificates}${role}/${id}`,
    host: (host: string) => hosts + host,
    aliveOf: (host: string) => alive + host,
    eligibilityOf: (host: string) => eligibility + host,
    ledger: (host: string) => ledgers + host,
    allocation: (namespace: string, job: string, id: string) => `${allocations}${namespace}/${job}/${id}`,
    allocationsOf: (namespace: string, job: string) => `${allocations}${namespace}/${job}/`,
    job: (namespace: string, job: string) => `${jobs}${namespace}/${job}`,
    version: (namespace: string, job: string, version: number) =>
      `${versions}${namespace}/${job}/${String(version).padStart(6, '0')}`,
    owner: (namespace: string, job: string) => `${owners}${namespace}/${job}`,
    outcome: (namespace: string, job: string, id: string) => `${outcomes}${namespace}/${job}/${id}`,
    outcomesOf: (namespace: string, job: string) => `${outcomes}${namespace}/${job}/`,
    rollout: (namespace: string, job: string) => `${rollouts}${namespace}/${job}/state`,
    rolloutsOf: (namespace: string, job: string) => `${rollouts}${namespace}/${job}/`,
    intent: (namespace: string, job: string, id: string) => `${intents}${namespace}/${job}/${id}`,
    intentsOf: (namespace: string, job: string) => `${intents}${namespace}/${job}/`,
    run: (namespace: string, idempotencyKey: string) => `${runs}${namespace}/${idempotencyKey}`,
    role: (kind: string, id: string) => `${roles}${kind}/${id}`,
    /** @param pool `<resource>/<value>` */
    pool: (pool: string) => pools + pool,
    sharedResource: (name: string) => shared + name,
    quota: (namespace: string) => `${limits}quotas/${namespace}`,
    /** The arbiter that keeps the quotas, under its session. */
    quotaKeeper: `${arbiters}keeper`,
    /** What its requests granted against quotas, and is not yet seen used. */
    grantBatches: `${grants}batches/`,
    grantBatch: (id: string) => `${grants}batches/${id}`,
    /** Namespaces of which every grant that can still be used is among the batches. */
    coveredNamespaces: `${grants}covered/`,
    coveredNamespace: (namespace: string) => `${grants}covered/${namespace}`,
  };
}
