import type { Theme } from './suite.ts';

/**
 * Planted bugs: each is one edit of one source file that takes away something on which an invariant hangs. They exist only
 * here; `npm run mutants` applies one at a time to a copy of that file and runs the simulator's suite until a checker
 * objects. A suite that misses one is too weak.
 */
export interface Mutant {
  readonly name: string;
  /** Which of the suite's runs look for it. */
  readonly theme: Theme;
  /** The slip that it stands for. */
  readonly slip: string;
  readonly file: string;
  /** Stands in the file exactly once; a test says so. */
  readonly find: string;
  readonly replace: string;
  /** The invariants that it breaks; one of them must be among what is found. */
  readonly breaks: readonly string[];
  /** The suite does not find it yet within its bounds: why. `npm run mutants -- --all` looks for it all the same. */
  readonly unseen?: string;
}

export const MUTANTS: readonly Mutant[] = [
  // --- commits --------------------------------------------------------------------------------------------------------
  {
    name: 'ledger-not-compared',
    theme: 'crowd',
    slip: 'a commit writes the ledger without comparing the revision that it was computed from',
    file: 'src/runtime/commit-attempt.ts',
    find: "    compare(key, 'modRevision', before.revision);\n    writes.push({ kind: 'put', key, value });\n",
    replace: "    readBack.push(key);\n    writes.push({ kind: 'put', key, value });\n",
    breaks: ['I1', 'I3', 'I4'],
  },
  {
    name: 'pool-not-compared',
    theme: 'crowd',
    slip: 'a commit writes what is taken of a pool without comparing the revision that it was computed from',
    file: 'src/runtime/commit-attempt.ts',
    find: "    const key = keys.pool(pool);\n    compare(key, 'modRevision', before.revision);\n",
    replace: '    const key = keys.pool(pool);\n    readBack.push(key);\n',
    breaks: ['I1', 'I3'],
  },
  {
    name: 'owner-not-compared',
    theme: 'crowd',
    slip: 'a commit places without comparing the owner key',
    file: 'src/runtime/commit-attempt.ts',
    find: "    compare(keys.owner(namespace, job), 'createRevision', createRevision);\n",
    replace: '    void createRevision;\n',
    breaks: ['I7', 'I12'],
  },
  {
    name: 'victim-not-compared',
    theme: 'crowd',
    slip: 'an eviction or a release changes a record that is no longer the one that was read',
    file: 'src/runtime/commit-attempt.ts',
    find: "    compare(keyOf(allocation, keys), 'modRevision', modRevision);\n",
    replace: '    void modRevision;\n',
    breaks: ['I3', 'I4', 'I8'],
  },
  {
    name: 'rebase-without-fit',
    theme: 'crowd',
    slip: 'what was refused is committed again under the new revision without asking whether it still fits',
    file: 'src/core/transaction-draft.ts',
    find: '          : fitShortfall(host, ledger, place);',
    replace: '          : null;',
    breaks: ['I1', 'I2'],
  },
  {
    name: 'blind-retry',
    theme: 'late',
    slip: 'a transaction that was found applied is sent once more',
    file: 'src/runtime/committer.ts',
    find: '    if (applied !== null) this.#applied(batch, applied.revision, applied.exact);\n    else {',
    replace: '    {',
    breaks: ['I12', 'I3', 'I5', 'I46'],
  },
  {
    name: 'unknown-is-refused',
    theme: 'late',
    slip: 'a commit without an answer is taken for one that was refused, and the claim is dropped',
    file: 'src/runtime/committer.ts',
    find: '    const { applied, fencedAt } = await resolveCommit(this.#deps, keys, batch.draft, sentAfter);\n',
    replace:
      "    for (const pending of batch.units) this.#tally.refuse(pending, allOf(pending.unit, { reason: 'contended' }));\n" +
      '    if (batch.units.length > 0) return;\n' +
      '    const { applied, fencedAt } = await resolveCommit(this.#deps, keys, batch.draft, sentAfter);\n',
    breaks: ['I5', 'I12', 'I55'],
  },
  {
    name: 'read-back-without-fence',
    theme: 'race',
    slip: 'an unknown outcome is read back by reading alone, while the write may still be on its way',
    file: 'src/runtime/read-back.ts',
    find: '    compares: [doubt.fence.compare],\n    writes: [doubt.fence.write],\n',
    replace: '    compares: [{ ...doubt.fence.compare, equals: -1 }],\n    writes: [],\n',
    breaks: ['I3', 'I4', 'I5', 'I13', 'I46', 'I55'],
  },
  {
    name: 'half-a-gang',
    theme: 'race',
    slip: 'of a plan that must land whole, what did not conflict lands alone',
    file: 'src/core/commit.ts',
    find: '  if (unit.atomic) {\n',
    replace: '  if (unit.atomic && unit.parts.length === 0) {\n',
    breaks: ['I6'],
  },
  {
    name: 'fit-forgets-ports',
    theme: 'race',
    slip: 'the fit rule does not look whether a port is given away',
    file: 'src/core/ledger.ts',
    find: 'if (outside || ledger.ports.includes(port) || wanted.indexOf(port) !== position)',
    replace: 'if (outside || wanted.indexOf(port) !== position)',
    breaks: ['I2'],
  },
  {
    name: 'fit-forgets-the-reserve',
    theme: 'crowd',
    slip: 'the fit rule counts what is reserved for the host itself as free, and a little more',
    file: 'src/core/ledger.ts',
    find: '  let cpuMilli = capacity.cpuMilli - reserved.cpuMilli - asked.cpuMilli;\n',
    replace: '  let cpuMilli = capacity.cpuMilli + 1 - reserved.cpuMilli;\n',
    breaks: ['I1'],
  },
  {
    name: 'evicted-ports-are-free',
    theme: 'crowd',
    slip: 'a victim that gives way gives its ports away while it still listens there',
    file: 'src/core/ledger.ts',
    find: '  return { ...ledger, bands, gpuMilli: addShares(ledger.gpuMilli, claim, -1) };\n',
    replace:
      '  const gone = Object.values(claim.ports);\n' +
      '  const ports = ledger.ports.filter((port) => !gone.includes(port));\n' +
      '  return { ...ledger, bands, ports, gpuMilli: addShares(ledger.gpuMilli, claim, -1) };\n',
    breaks: ['I2', 'I3', 'I45'],
  },
  {
    name: 'outcome-forgotten',
    theme: 'crowd',
    slip: 'the release drops the claim and does not write how it ended',
    file: 'src/runtime/commit-attempt.ts',
    find: "    writes.push({ kind: 'put', key, value: outcomeCodec.encode(outcome) });\n",
    replace: '    outcomeCodec.encode({ ...outcome, reason: key });\n',
    breaks: ['I52', 'I19', 'I22', 'I23'],
  },
  {
    name: 'prefix-without-slash',
    theme: 'crowd',
    slip: "a job's prefix does not end in a slash, so job-1 sees what is job-10's",
    file: 'src/core/keys.ts',
    find: '    allocationsOf: (namespace, job) => `${allocations}${namespace}/${job}/`,\n',
    replace: '    allocationsOf: (namespace, job) => `${allocations}${namespace}/${job}`,\n',
    breaks: ['I7', 'I12', 'I45', 'I55', 'I10'],
  },
  // --- schedulers -----------------------------------------------------------------------------------------------------
  {
    name: 'owner-taken-blindly',
    theme: 'crowd',
    slip: 'a scheduler takes jobs without comparing that nobody has them',
    file: 'schedulers/ownership.ts',
    find: "      compares: ownerKeys.map((key) => ({ key, target: 'createRevision' as const, equals: 0 })),\n",
    replace: '      compares: [],\n',
    breaks: ['I7'],
  },
  {
    name: 'released-before-released',
    theme: 'crash',
    slip: 'the claim goes back as soon as the task has ended, before the host says that it is released',
    file: 'schedulers/observer.ts',
    find: '    if (report.released && isTerminal(report.state)) this.#released(job, entry, report);',
    replace: '    if (isTerminal(report.state)) this.#released(job, entry, report);',
    breaks: ['I45'],
  },
  {
    name: 'silence-is-absence',
    theme: 'lost',
    slip: 'a host that does not answer is taken for one that knows of nothing',
    file: 'schedulers/sweeper.ts',
    find: "        'a host did not say what became of an allocation',\n      );\n      return;\n",
    replace: "        'a host did not say what became of an allocation',\n      );\n      report = null;\n",
    breaks: ['I13', 'I14', 'I45'],
  },
  {
    name: 'unanswered-start-is-refused',
    theme: 'lossy',
    slip: 'a start without an answer is taken for a refusal, and the job is placed elsewhere',
    file: 'schedulers/starter.ts',
    find: '      if (outcome.sent) {\n',
    replace:
      "      if (outcome.sent) return this.#refused(job, entry, host, 'no answer');\n      if (outcome.sent) {\n",
    breaks: ['I14', 'I45'],
  },
  {
    name: 'refused-member-leaves-alone',
    theme: 'refused',
    slip: 'the claim of a gang member that was refused is given back though others of the gang run',
    file: 'schedulers/term.ts',
    find: '        if (!this.#gangs.refused(job, entry, why)) releaser.release(job, entry, null);\n',
    replace: '        void why;\n        releaser.release(job, entry, null);\n',
    breaks: ['I6'],
  },
  {
    name: 'replaced-before-released',
    theme: 'crowd',
    slip: 'a slot is filled again as soon as its allocation is told to stop',
    file: 'src/core/slot-table.ts',
    find: "    if (allocation.desired === 'run' || state !== 'lost') return null;\n",
    replace: "    if (allocation.desired === 'run') return null;\n    void state;\n",
    breaks: ['I12', 'I14'],
  },
  {
    name: 'complete-runs-again',
    theme: 'crowd',
    slip: 'a batch slot that is complete is filled once more',
    file: 'src/core/slot-table.ts',
    find: "  if (!runsForEver && counted.some((outcome) => outcome.state === 'complete')) return { kind: 'complete' };\n",
    replace: '',
    breaks: ['I19', 'I21', 'I22'],
  },
  {
    name: 'assumed-is-forgotten',
    theme: 'late',
    slip: 'reading a job anew drops what was placed and is not yet committed',
    file: 'schedulers/job-intake.ts',
    find: '      const isOnItsWay = entry.revision === 0 || entry.releasing;\n',
    replace: '      const isOnItsWay = false;\n',
    breaks: ['I55', 'I12', 'I14'],
  },
  {
    name: 'hosts-are-not-asked',
    theme: 'restored',
    slip: 'after a restore a job is read from the store alone, though hosts know more',
    file: 'schedulers/term.ts',
    find: '      strays: this.#restoredAtMs === null ? null : new Strays(this, () => this.#reports.view),\n',
    replace: '      strays: null,\n',
    breaks: ['I53', 'I54', 'I14', 'I45'],
  },
  {
    name: 'hosts-are-not-awaited',
    theme: 'restored',
    slip: 'after a restore jobs are placed before the hosts have said what they run',
    file: 'schedulers/term.ts',
    find: '    await this.#hostsHeard();\n',
    replace: '',
    breaks: ['I53', 'I54', 'I14'],
  },
  // --- hosts ----------------------------------------------------------------------------------------------------------
  {
    name: 'old-epoch-accepted',
    theme: 'lost',
    slip: 'a host takes orders of an epoch older than one that it has seen',
    file: 'host-agent/journal.ts',
    find: "    return this.#epoch !== null && compareEpochs(epoch, this.#epoch) === 'older';\n",
    replace: '    return false;\n',
    breaks: ['I17'],
  },
  {
    name: 'expired-ticket-accepted',
    theme: 'lost',
    slip: 'a host does not look when the ticket ends',
    file: 'src/core/ticket.ts',
    find: "  if (nowMs > body.expiresMs + CLOCK_TOLERANCE_MS) return 'expired';\n",
    replace: '',
    breaks: ['I36'],
  },
  {
    name: 'accepted-before-durable',
    theme: 'crash',
    slip: 'a start is acknowledged before its record is synced',
    file: 'host-agent/start-orders.ts',
    find: 'specFile.encode(spec)),\n    ]);',
    replace: 'specFile.encode(spec), { durable: false }),\n    ]);',
    breaks: ['I13', 'I32', 'I21', 'I45'],
  },
  {
    name: 'restarts-what-it-recovers',
    theme: 'crash',
    slip: 'an agent that comes back starts once more what still runs',
    file: 'host-agent/task-run.ts',
    find: "    if (rebooted) await endUnseen(this.#ports, name, 'host-reboot');\n",
    replace:
      "    if (rebooted) await endUnseen(this.#ports, name, 'host-reboot');\n" +
      '    if (!this.#over) await this.#beginAttempt(last + 1, [], null);\n',
    breaks: ['I13', 'I22', 'I26', 'I27'],
  },
  {
    name: 'restarts-what-was-stopped',
    theme: 'crash',
    slip: 'an agent that comes back asks the restart policy about a task that was ended by order',
    file: 'host-agent/allocation-run.ts',
    find: "    const over = this.#verdict.given !== null || outcome.kind === 'found';\n",
    replace: '    const over = false;\n',
    breaks: ['I8', 'I13', 'I22', 'I23', 'I45'],
  },
  {
    name: 'recovers-nothing',
    theme: 'crash',
    slip: 'an agent that comes back forgets what an earlier one began',
    file: 'host-agent/recovery.ts',
    find: "        if (spec.kind === 'found' && !barred) {\n",
    replace: "        if (spec.kind === 'found' && !barred && !attempts.has(id)) {\n",
    breaks: ['I13', 'I26', 'I27', 'I45'],
  },
  {
    name: 'any-process-is-ours',
    theme: 'crash',
    slip: 'a process number alone is taken for the process: boot and start time are not looked at',
    file: 'host-agent/attempt.ts',
    find: 'await ports.processes.isAlive(shim);',
    replace: '(await ports.processes.isAlive(shim)) || shim.pid > 1;',
    breaks: ['I10', 'I19', 'I30', 'I55'],
  },
  {
    name: 'one-restart-too-many',
    theme: 'crowd',
    slip: 'a task is started again once more than its policy allows',
    file: 'host-agent/restarts.ts',
    find: '  if (recent >= policy.attempts)\n',
    replace: '  if (recent > policy.attempts)\n',
    breaks: ['I22'],
  },
  {
    name: 'newcomer-does-not-wait',
    theme: 'crowd',
    slip: 'a host starts a newcomer while those that give way to it are still there',
    file: 'host-agent/allocation-table.ts',
    find: '    const gone = (run.allocation.evicts ?? []).every((id) => !this.ledger.holds(id));\n    const may = gone && this.ledger.begin(run.id);\n',
    replace: '    const may = this.ledger.begin(run.id) || run.id.length > 0;\n',
    breaks: ['I1', 'I45'],
  },
  {
    name: 'port-reused-at-once',
    theme: 'crash',
    slip: 'a host calls an allocation released while its port is still in use',
    file: 'host-agent/allocation-run.ts',
    find: '    if (held.length > 0) {\n',
    replace: '    if (held.length > 65_535) {\n',
    breaks: ['I45', 'I47'],
  },
  {
    name: 'stop-bars-nothing',
    theme: 'lossy',
    slip: 'a host that is told to stop what it does not know does not remember it, and starts it when the order comes late',
    file: 'host-agent/stop-orders.ts',
    find: '    const barred = await Promise.allSettled([journal.bar(id)]);\n',
    replace: '    const barred = await Promise.allSettled([Promise.resolve()]);\n',
    breaks: ['I45', 'I8'],
  },
  {
    name: 'same-seq-twice',
    theme: 'any',
    slip: 'a host gives two changes the same number, so that a view may keep the older one',
    file: 'host-agent/report-feed.ts',
    find: '  changed(report: AllocationReport): void {\n    this.#seq += 1;\n',
    replace: '  changed(report: AllocationReport): void {\n    this.#seq += this.#seq % 2;\n',
    breaks: ['I48', 'I50'],
  },
  // --- monitors -------------------------------------------------------------------------------------------------------
  {
    name: 'merge-by-arrival',
    theme: 'any',
    slip: 'a view takes what comes last for the newest',
    file: 'src/core/merge.ts',
    find: '  return a.incarnation === b.incarnation ? a.seq > b.seq : a.incarnation > b.incarnation;\n',
    replace: '  return a.incarnation >= 0 || b.incarnation >= 0;\n',
    breaks: ['I48', 'I49', 'I50'],
  },
  {
    name: 'told-of-the-host-first',
    theme: 'hushed',
    slip: 'a relay says how far a host has come before it passes on the message that brought it there',
    file: 'src/runtime/merged-view.ts',
    find: '    if (news) this.#handlers.onMessage?.(message);\n    if (before >= 0 && message.incarnation > before)\n',
    replace:
      "    if (wasSilent) this.#handlers.onHost?.(this.#sightOf(entry), 'heard');\n" +
      '    if (news) this.#handlers.onMessage?.(message);\n    if (before >= 0 && message.incarnation > before)\n',
    breaks: ['I48', 'I55'],
  },
  {
    name: 'lost-at-once',
    theme: 'lost',
    slip: 'a host is declared lost at its first missed sign of life',
    file: 'monitor/host-watch.ts',
    find: 'const dueMs = sinceMs + this.#deps.lostAfterMs + this.#turn(host) * LOOK_MS * 2;\n      if (nowMs < dueMs || suspects.has(host) || !this.#isSilent(host) || this.#isLost(host)) continue;',
    replace:
      'const dueMs = sinceMs + this.#turn(host) * LOOK_MS * 2;\n      if (nowMs < dueMs || suspects.size > 99 || this.#isLost(host)) continue;',
    breaks: ['I18'],
  },
  {
    name: 'grants-not-counted',
    theme: 'quota',
    slip: 'an arbiter counts what hosts report as in use, and not what it has just granted',
    file: 'arbiter/decide.ts',
    find: 'overQuota(addAmounts(addAmounts(now.used, now.granted), now.asked), now.quota)',
    replace: 'overQuota(addAmounts(now.used, now.asked), now.quota)',
    breaks: ['I9', 'I40'],
  },
  {
    name: 'ended-is-free',
    theme: 'quota',
    slip: 'an arbiter counts a task that has ended as free, before its host has released what it held',
    file: 'arbiter/use-book.ts',
    find: '    if (!report.released) this.#sums.change(report.namespace, amountsOf(report), 1);\n',
    replace:
      "    if (report.state === 'running') this.#sums.change(report.namespace, amountsOf(report), 1);\n",
    breaks: ['I9', 'I40'],
  },
  {
    name: 'run-key-not-compared',
    theme: 'crowd',
    slip: 'a one-off run that is asked for twice is made twice',
    file: 'monitor/runs.ts',
    find: "        { key: runKey, target: 'createRevision', equals: 0 },\n",
    replace: '',
    breaks: ['I7', 'I20'],
  },
  {
    name: 'job-written-blindly',
    theme: 'crowd',
    slip: 'a job is written over whatever somebody else wrote meanwhile',
    file: 'monitor/job-writes.ts',
    find: "      compares: [{ key, target: 'modRevision', equals: known?.revision ?? 0 }],\n",
    replace: '      compares: [],\n',
    breaks: ['I4', 'I7'],
  },
];
