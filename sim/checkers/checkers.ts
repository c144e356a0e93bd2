/**
 * The invariants (docs/invariants.md), checked on the recorded history of a run. First one pass over the store's revisions, then one over each kind of fact.
 * `replay` turns the history into the cell at each revision and an index of the run; the other rooms hold the
 * invariants by their subject:
 *
 * | invariant | file |
 * | --- | --- |
 * | I1 I2 I3 | `resources/resources.ts`, `resources/pools.ts`, `resources/host-usage.ts` |
 * | I4 | `commits/allocation-life.ts`, `store/compared-writes.ts` |
 * | I5, order | `store/store.ts` |
 * | I6 | `commits/gangs.ts`, `processes/starts.ts` |
 * | I7 | `store/key-owners.ts`, `store/writers.ts`, `store/compared-writes.ts` |
 * | I8 | `commits/allocation-life.ts`, `processes/starts-after-stop.ts` |
 * | I9 | `resources/quotas.ts` |
 * | I10 I24 I55 | `liveness/liveness.ts`, `losses/lost-host-moves.ts` |
 * | I11 | `commits/retries.ts` |
 * | I12 | `commits/allocation-life.ts` |
 * | I13 I30 | `processes/processes.ts`, `commits/host-listings.ts` |
 * | I14 I15 | `processes/overlaps.ts` |
 * | I16 | `processes/kill-causes.ts` |
 * | I17 I34 I46 | `tickets/orders.ts` |
 * | I18 | `losses/losses.ts` |
 * | I19 I20 I46 | `answers/answers.ts` |
 * | I21 I22 | `processes/starts.ts`, `commits/slot-attempts.ts` |
 * | I23 I26 | `processes/exits.ts`, `answers/outcomes.ts` |
 * | I27 I33 | `processes/adoptions.ts` |
 * | I28 | `answers/outputs.ts`, `answers/unread-outputs.ts` |
 * | I36 to I39, I43 I44 I46 | `tickets/tickets.ts` |
 * | I40 I41 | `tickets/grants.ts` |
 * | I45 I47 | `resources/released.ts`, `resources/address-reuse.ts`, `processes/processes.ts` |
 * | I48 I50 I51 | `answers/views.ts` |
 * | I52 | `answers/event-streams.ts`, `answers/outcomes.ts` |
 * | I53 I54 | `losses/restores.ts`, `store/rollbacks.ts` |
 * | I62 | `commits/closed-hosts.ts`, `liveness/drained.ts` |
 * | I63 | `commits/available.ts` |
 * | I69 | `answers/names.ts` |
 * | I70 | `liveness/rollouts.ts` |
 * | I71 | `commits/surplus.ts` |
 * | I72 | `commits/fenced.ts`, `processes/overlaps.ts` |
 * | I73 | `processes/data-holders.ts`, `resources/pools.ts` |
 * | I74 | `resources/neighbours.ts`, `resources/host-usage.ts` |
 * | I75 | `commits/remedies.ts` |
 * | I76 | `commits/budgets.ts` |
 * | S0.1 | `losses/lost-host-moves.ts`, `commits/drained-slots.ts` |
 * | S0.14 | `commits/duplicates.ts` |
 * | distinct | `commits/distinct.ts` |
 *
 * - `check-history.ts`: `moorage check`: the invariants of the shared state on the history of a real store
 * - `settled.ts`: whether a run may end early; `work-done.ts`: whether enough happened in it to prove anything
 */
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Digest } from '../../src/ports/crypto.ts';
import type { RecordedHistory } from '../history/history.ts';
import { checkAddressReuse } from './resources/address-reuse.ts';
import { checkAdoptions } from './processes/adoptions.ts';
import { checkDistinct } from './commits/distinct.ts';
import { checkAnswers } from './answers/answers.ts';
import { checkNames } from './answers/names.ts';
import { AvailableChecker } from './commits/available.ts';
import { checkRollouts } from './liveness/rollouts.ts';
import { checkKillCauses } from './processes/kill-causes.ts';
import { checkClosed } from './commits/closed-hosts.ts';
import { checkSurplus } from './commits/surplus.ts';
import { FenceChecker } from './commits/fenced.ts';
import { checkDuplicates } from './commits/duplicates.ts';
import { checkDrainedSlots } from './commits/drained-slots.ts';
import { checkRemedies } from './commits/remedies.ts';
import { BudgetChecker } from './commits/budgets.ts';
import { checkMoves } from './commits/moves.ts';
import { checkDrained } from './liveness/drained.ts';
import { beforeOf, ComparedWritesChecker } from './store/compared-writes.ts';
import { checkDataHolders } from './processes/data-holders.ts';
import { checkExits } from './processes/exits.ts';
import { checkGrants } from './tickets/grants.ts';
import { checkEventStreams } from './answers/event-streams.ts';
import { checkOutcomes } from './answers/outcomes.ts';
import { GangChecker } from './commits/gangs.ts';
import { checkHostUsage } from './resources/host-usage.ts';
import { LostHostMoveChecker } from './losses/lost-host-moves.ts';
import type { LivenessTimes } from './liveness/liveness.ts';
import { checkLiveness } from './liveness/liveness.ts';
import { LossChecker } from './losses/losses.ts';
import { checkOrders } from './tickets/orders.ts';
import { checkOutputs } from './answers/outputs.ts';
import { checkOverlaps } from './processes/overlaps.ts';
import { checkProcesses } from './processes/processes.ts';
import { checkQuotas } from './resources/quotas.ts';
import { checkReleased } from './resources/released.ts';
import { checkRestores } from './losses/restores.ts';
import { checkRetries } from './commits/retries.ts';
import { DisturbedTimes } from './replay/disturbed-times.ts';
import { RunIndex } from './replay/run-index.ts';
import { SharedStateChecker } from './commits/commits.ts';
import { checkStarts } from './processes/starts.ts';
import { checkStartsAfterStop } from './processes/starts-after-stop.ts';
import { checkStoreOrder } from './store/store.ts';
import { checkRollbacks } from './store/rollbacks.ts';
import { checkTickets } from './tickets/tickets.ts';
import { hostsAheadOfTime, clockFaultsOf } from './replay/clock-faults.ts';
import { checkUnreadOutputs } from './answers/unread-outputs.ts';
import { checkViews } from './answers/views.ts';
import type { Violation } from './replay/violations.ts';
import { Findings } from './replay/violations.ts';
import type { WorkDone, WorkLeast } from './work-done.ts';
import { tooLittle, workDoneIn } from './work-done.ts';
import { WriterChecker } from './store/writers.ts';

/** What a checker needs to know of a run besides its history. */
export interface RunSetting {
  readonly keys: CellKeys;
  /** Do hosts ask for tickets? */
  readonly enforcement: boolean;
  /** The digest by which tickets name a launch; null: not checked. */
  readonly digest: Digest | null;
  /** null: the run has no quiet period, or one that is too short for liveness. */
  readonly liveness: LivenessTimes | null;
  readonly least: WorkLeast;
  /** What was found during the run. Absent: nothing was checked. */
  readonly found?: readonly Violation[];
}

export interface RunReport {
  /** `too-little`: nothing was wrong, and too little happened for that to mean anything. */
  readonly result: 'holds' | 'violated' | 'too-little';
  /** The first ones, in the order of their time. */
  readonly violations: readonly Violation[];
  readonly violationsTotal: number;
  readonly done: WorkDone;
  readonly tooLittle: readonly string[];
}

/** Checks a recorded run against all invariants: some milliseconds for a run of a few thousand events, most of them for decoding records. */
export function checkRun(history: RecordedHistory, setting: RunSetting): RunReport {
  const findings = new Findings(setting.found);
  const run = new RunIndex(history);
  const end = checkRevisions(history, setting, run, findings);
  checkStoreOrder(history, findings);
  checkRollbacks(history, findings);
  checkRetries(history, setting.keys, findings);
  checkProcesses(history, run, findings);
  checkReleased(history, run, findings);
  checkAddressReuse(history, run, end.cell, findings);
  checkHostUsage(run, end.cell, findings);
  checkStartsAfterStop(history, run, findings);
  checkOverlaps(run, findings);
  checkDataHolders(run, findings);
  checkExits(history, run, findings);
  checkKillCauses(history, run, findings);
  checkStarts(run, findings);
  checkOrders(history, findings);
  if (setting.enforcement) checkTickets(history, run, setting, findings);
  if (setting.enforcement) checkGrants(history, run, findings);
  checkAnswers(history, run, findings);
  checkViews(history, run, findings);
  checkNames(history, run, findings);
  checkAdoptions(history, run, findings);
  checkOutcomes(history, run, findings);
  checkEventStreams(history, setting.keys, findings);
  checkOutputs(history, findings);
  checkRestores(history, run, end, findings);
  if (setting.liveness !== null) {
    checkUnreadOutputs(history, end.alive, findings);
    const ahead = hostsAheadOfTime(history);
    const clocksAreTrue = clockFaultsOf(history).size === 0;
    const input = { run, ...end, ahead, clocksAreTrue, times: setting.liveness };
    checkLiveness(input, findings);
    checkDrained(input, findings);
    checkRollouts(input, findings);
  }
  return reportOf(history, setting, run, findings);
}

/** All that is checked revision by revision. @returns the cell at the end */
function checkRevisions(
  history: RecordedHistory,
  { keys }: RunSetting,
  run: RunIndex,
  findings: Findings,
): { readonly cell: SharedStateChecker['cell']; readonly alive: ReadonlySet<string> } {
  const state = new SharedStateChecker(keys, findings);
  const writers = new WriterChecker(keys, run.roles);
  const compared = new ComparedWritesChecker(keys);
  const gangs = new GangChecker();
  const losses = new LossChecker(keys);
  const fences = new FenceChecker();
  const budgets = clockFaultsOf(history).size === 0 ? new BudgetChecker() : null;
  const available = new AvailableChecker();
  const disturbed = new DisturbedTimes(history);
  const moves = new LostHostMoveChecker(history.nemesis);
  for (const at of history.revisions) {
    findings.enter(at);
    const step = state.apply(at.fact.revision, at.fact.changes, at.fact.isRestore);
    run.apply(step, at);
    losses.check(step, state.cell, at, findings);
    moves.check(step, state.cell, at, { run, alive: losses.alive }, findings);
    const isNew = ({ id }: { readonly id: string }): boolean =>
      run.allocations.get(id)?.created.seq === at.seq;
    gangs.check(step, state.cell, findings, isNew);
    fences.check(step, state.cell, run, findings, isNew);
    if (step.initial) continue;
    writers.check(at, findings);
    compared.check(step, beforeOf(step, state.cell), at, findings);
    checkQuotas(step, state.cell, at, run, findings);
    checkDistinct(step, state.cell, run, findings);
    checkClosed(step, state.cell, findings, isNew);
    checkRemedies(step, state.cell, findings);
    budgets?.check(step, state.cell, at, at.fact, findings);
    available.check(step, state.cell, at, { run, disturbed, askedAtMs: at.fact.askedAtMs }, findings);
    checkDrainedSlots(step, state.cell, run, findings);
    checkSurplus(step, run, findings);
    checkMoves(step, run, findings);
    checkDuplicates(step, state.cell, findings);
  }
  return { cell: state.cell, alive: losses.alive };
}

function reportOf(
  history: RecordedHistory,
  setting: RunSetting,
  run: RunIndex,
  findings: Findings,
): RunReport {
  const done = workDoneIn(history, run);
  const short = tooLittle(done, setting.least);
  const violations = [...findings.violations].sort((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0));
  const result = findings.count > 0 ? 'violated' : short.length > 0 ? 'too-little' : 'holds';
  return { result, violations, violationsTotal: findings.count, done, tooLittle: short };
}
