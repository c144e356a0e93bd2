import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Allocation, Exit, Outcome } from '../../src/core/cell/allocation.ts';
import type { Eligibility } from '../../src/core/host/host.ts';
import type { Job } from '../../src/core/cell/job.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, withClaim, withoutClaim } from '../../src/core/fit/ledger.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import type { TicketBody } from '../../src/core/quota/ticket.ts';
import { claimOf } from '../../src/core/quota/ticket.ts';
import type { Write } from '../../src/ports/cell-store.ts';
import type { ProcessIdentity } from '../../src/ports/process.ts';
import type { Launch, StopRequest } from '../../src/wire/api/host-api.ts';
import { aliveCodec } from '../../src/wire/host-files/host-files.ts';
import { parseJobObject } from '../../src/wire/job-file/job-file.ts';
import {
  allocationCodec,
  eligibilityCodec,
  hostCodec,
  jobCodec,
  ledgerCodec,
  outcomeCodec,
  ownerCodec,
  quotaCodec,
  roleCodec,
} from '../../src/wire/records/records.ts';
import type { RunReport, RunSetting } from '../../sim/checkers/checkers.ts';
import { checkRun } from '../../sim/checkers/checkers.ts';
import type { ActorKind } from '../../sim/history/facts.ts';
import type { OrderAnswer } from '../../sim/history/host-facts.ts';
import { HandStore } from './hand-store.ts';
import { CELL_INCARNATION, KEYS, outcomeOf, someHost } from './history-world.ts';

/** A digest that tells texts apart, which is all that a ticket needs of it here. */
const digest = (text: string): string => `digest of ${text}`;

export const HAND_SETTING: RunSetting = {
  keys: KEYS,
  enforcement: true,
  digest,
  liveness: { knownMs: 0, placeMs: 5_000, stopMs: 10_000 },
  least: { committed: 1, started: 1, finalViews: 1 },
};

export interface Started {
  readonly attempt: string;
  readonly process: ProcessIdentity;
}

/**
 * A run that is written down by hand, fact by fact, as a world would see it. What it writes by default is right; a test plants one thing that is not.
 */
export class HandRun extends HandStore {
  readonly #tickets = new Map<string, TicketBody>();
  readonly #reports = new Map<string, Map<string, AllocationReport>>();
  readonly #seqs = new Map<string, number>();
  #made = 0;

  constructor(hosts: readonly string[] = ['host-1', 'host-2']) {
    super();
    for (const monitor of ['monitor-1', 'monitor-2']) this.role(monitor, 'monitor');
    this.role('arbiter-1', 'arbiter');
    for (const kind of ['service', 'batch']) {
      this.role(`${kind}-1`, 'scheduler');
      this.put(`${kind}-1`, KEYS.role('scheduler', `${kind}-1`), schedulerRecord(kind), 'absent');
    }
    for (const host of hosts) this.join(host);
  }

  role(actor: string, role: ActorKind): void {
    this.history.add('actors', { actor, role, instance: 1, change: 'started' });
  }

  join(host: string): void {
    this.history.add('hosts', { kind: 'boot', host, boot: `boot-${host}` });
    this.role(host, 'agent');
    this.put(host, KEYS.host(host), hostCodec.encode({ ...someHost(host), bootId: `boot-${host}` }), 'same');
    this.alive(host);
  }

  alive(host: string): void {
    const alive = { stateId: `state-${host}`, incarnation: 1, address: `http://${host}`, sinceMs: 0 };
    this.put(host, KEYS.aliveOf(host), aliveCodec.encode(alive), 'same');
  }

  // --- jobs and allocations ---------------------------------------------------------------------------------------------

  job(name: string, changes: Readonly<Record<string, unknown>> = {}): Job {
    const reading = parseJobObject({ name, type: 'batch', command: ['work'], ...changes });
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    return reading.job;
  }

  /** Submitted, acknowledged, and taken by its scheduler. */
  submit(job: Job, scheduler = 'batch-1'): void {
    const answer = this.history.called({ kind: 'submit', client: 'client-1', job });
    this.jobRecord(job, 1, 'run');
    answer({ result: 'ok', job: job.name, version: 1 });
    const owner = ownerCodec.encode({ scheduler, kind: 'batch', sinceMs: 0 });
    this.put(scheduler, KEYS.owner(job.namespace, job.name), owner, 'absent');
  }

  jobRecord(job: Job, version: number, desired: 'run' | 'stop'): void {
    const record = jobCodec.encode({ job, version, desired, submittedAtMs: this.nowMs });
    this.put('monitor-1', KEYS.job(job.namespace, job.name), record, 'same');
  }

  quota(namespace: string, cpuMilli: number): void {
    const quota = { namespace, cpuMilli, memoryMib: null, gpuMilli: null, allocations: null };
    this.role('client-1', 'client');
    this.put('client-1', KEYS.quota(namespace), quotaCodec.encode(quota), 'same');
  }

  allocation(job: Job, changes: Partial<Allocation> = {}): Allocation {
    this.#made += 1;
    const made = String(this.#made);
    return {
      id: `a${made.padStart(4, '0')}`,
      host: 'host-1',
      precedence: 50,
      resources: { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: NO_SCALARS },
      gpus: [],
      ports: {},
      namespace: job.namespace,
      job: job.name,
      jobVersion: 1,
      group: Object.keys(job.groups)[0] ?? '',
      index: 0,
      attempt: 1,
      scheduler: 'batch-1',
      desired: 'run',
      planId: `p${made}`,
      epoch: { incarnation: CELL_INCARNATION, counter: 0 },
      createdAtMs: this.nowMs,
      ...changes,
    };
  }

  /** Committed with its ledger and behind its owner's key. @param guarded false: without any compare */
  commit(guarded: boolean, ...allocations: readonly Allocation[]): void {
    const [first] = allocations;
    if (first === undefined) return;
    const ledgerKey = KEYS.ledger(first.host);
    const ownerKey = KEYS.owner(first.namespace, first.job);
    const ledger = allocations.reduce(withClaim, this.#ledger(first.host));
    const writes: Write[] = allocations.map((one) => ({
      kind: 'put',
      key: keyOf(one),
      value: allocationCodec.encode(one),
    }));
    writes.push({ kind: 'put', key: ledgerKey, value: ledgerCodec.encode(ledger) });
    const created = this.entry(ownerKey)?.createRevision ?? 0;
    this.write(
      first.scheduler,
      writes,
      guarded
        ? [
            { key: ledgerKey, target: 'modRevision', equals: this.modOf(ledgerKey) },
            { key: ownerKey, target: 'createRevision', equals: created },
          ]
        : [],
    );
  }

  mark(allocation: Allocation, desired: Exclude<Allocation['desired'], 'run'>): Allocation {
    const marked: Allocation = { ...allocation, desired, cause: 'stopped by user' };
    this.put(allocation.scheduler, keyOf(allocation), allocationCodec.encode(marked), 'same');
    return marked;
  }

  /** The claim goes and the outcome is written, in one. @param outcome null: without one */
  release(
    allocation: Allocation,
    outcome: Partial<Outcome> | null = {},
    options: { readonly guarded?: boolean } = {},
  ): void {
    const ledgerKey = KEYS.ledger(allocation.host);
    const ledger = withoutClaim(this.#ledger(allocation.host), allocation);
    const writes: Write[] = [
      { kind: 'delete', key: keyOf(allocation) },
      { kind: 'put', key: ledgerKey, value: ledgerCodec.encode(ledger) },
    ];
    const { namespace, job, id } = allocation;
    if (outcome !== null) {
      const value = outcomeCodec.encode({ ...outcomeOf(allocation), exit: { code: 0 }, ...outcome });
      writes.push({ kind: 'put', key: KEYS.outcome(namespace, job, id), value });
    }
    const ownerKey = KEYS.owner(namespace, job);
    const owned = this.entry(ownerKey)?.createRevision ?? 0;
    this.write(allocation.scheduler, writes, [
      { key: ledgerKey, target: 'modRevision', equals: this.modOf(ledgerKey) },
      ...(options.guarded === false
        ? []
        : [{ key: ownerKey, target: 'createRevision' as const, equals: owned }]),
    ]);
    this.#reports.get(allocation.host)?.delete(id);
  }

  verdict(host: string, state: Eligibility['state'], counter: number): void {
    const [key, ledgerKey] = [KEYS.eligibilityOf(host), KEYS.ledger(host)];
    const verdict = { state, reason: '', by: 'monitor-1', sinceMs: this.nowMs, counter };
    const ledger = { ...this.#ledger(host), state, counter };
    this.write(
      'monitor-1',
      [
        { kind: 'put', key, value: eligibilityCodec.encode(verdict) },
        { kind: 'put', key: ledgerKey, value: ledgerCodec.encode(ledger) },
      ],
      [
        { key, target: 'modRevision', equals: this.modOf(key) },
        { key: ledgerKey, target: 'modRevision', equals: this.modOf(ledgerKey) },
      ],
    );
  }

  // --- tickets and hosts ------------------------------------------------------------------------------------------------

  launchOf(allocation: Allocation, job: Job): Launch {
    const group = job.groups[allocation.group];
    if (group === undefined) throw new Error('no such group');
    return { tasks: group.tasks, restart: group.restart, deadlineMs: group.deadlineMs };
  }

  grant(allocation: Allocation, job: Job, changes: Partial<TicketBody> = {}): TicketBody {
    const { namespace, scheduler, epoch, id, host } = allocation;
    const body: TicketBody = {
      jti: `jti-${id}`,
      aud: host,
      hostIncarnation: 1,
      notBeforeMs: this.nowMs,
      expiresMs: this.nowMs + 30_000,
      namespace,
      job: job.name,
      scheduler,
      epoch,
      claim: claimOf(allocation),
      commandDigest: digest(canonicalJson(this.launchOf(allocation, job))),
      ...changes,
    };
    this.history.add('grants', { arbiter: 'arbiter-1', body, arbiterNowMs: this.nowMs });
    this.#tickets.set(id, body);
    return body;
  }

  /** @param ticket undefined: the one that was granted */
  order(
    allocation: Allocation,
    job: Job,
    options: {
      readonly ticket?: TicketBody | null;
      readonly host?: string;
      readonly hostNowMs?: number;
      readonly refuse?: string;
      /** What the host says of it where it does not refuse. */
      readonly report?: AllocationReport;
      /** The agent dies before it answers. */
      readonly isUnanswered?: boolean;
      readonly commandId?: string;
    } = {},
  ): void {
    const host = options.host ?? allocation.host;
    const ticket = options.ticket === undefined ? (this.#tickets.get(allocation.id) ?? null) : options.ticket;
    const answer = this.history.ordered({
      ...{ kind: 'start', host, boot: `boot-${host}`, incarnation: 1 },
      hostNowMs: options.hostNowMs ?? this.nowMs,
      request: {
        commandId: options.commandId ?? `${allocation.id}-start-0`,
        allocation,
        launch: this.launchOf(allocation, job),
        ticket: ticket === null ? null : 'token',
      },
      ticket,
    });
    const { refuse } = options;
    if (options.isUnanswered !== true)
      answer({
        status: refuse === undefined ? 200 : 403,
        code: refuse ?? null,
        report: options.report ?? null,
      });
  }

  /** @param said by its host, where it is not 200 without a report; null: the agent dies before it answers */
  orderStop(
    allocation: Allocation,
    changes: Partial<StopRequest> = {},
    said: Partial<OrderAnswer> | null = {},
  ): void {
    const { id, host, epoch } = allocation;
    const request: StopRequest = { commandId: `${id}-stop`, epoch, mode: 'stop', cause: 'test', ...changes };
    const answer = this.history.ordered({
      ...{ kind: 'stop', host, boot: `boot-${host}`, incarnation: 1, hostNowMs: this.nowMs, id, request },
    });
    if (said !== null) answer({ status: 200, code: null, report: null, ...said });
  }

  orderRemoval({ id, host }: Allocation, said: Partial<OrderAnswer> = {}): void {
    const head = { host, boot: `boot-${host}`, incarnation: 1, hostNowMs: this.nowMs };
    const answer = this.history.ordered({ ...head, kind: 'remove', id, commandId: `${id}-remove` });
    answer({ status: 204, code: null, report: null, ...said });
  }

  /** A shim claims the attempt and the command runs. */
  begin(
    allocation: Allocation,
    number = 1,
    changes: { task?: string; host?: string; pid?: number; gpus?: readonly number[] } = {},
  ): Started {
    this.#made += 1;
    const host = changes.host ?? allocation.host;
    const attempt = `${allocation.id}.${changes.task ?? 'work'}.${String(number)}`;
    const shim = { boot: `boot-${host}`, pid: 10_000 + this.#made, start: this.#made };
    const process = { boot: `boot-${host}`, pid: changes.pid ?? 20_000 + this.#made, start: this.#made };
    this.history.add('hosts', { kind: 'claimed', host, attempt, shim });
    const gpus = changes.gpus ?? allocation.gpus.map(({ device }) => device);
    this.history.add('hosts', {
      kind: 'started',
      host,
      attempt,
      process,
      ...(gpus.length === 0 ? {} : { gpus }),
    });
    for (const port of Object.values(allocation.ports))
      this.history.add('hosts', { kind: 'bound', host, what: 'port', name: String(port), attempt });
    this.#report(allocation, process.pid);
    return { attempt, process };
  }

  signal(
    host: string,
    { attempt, process }: Started,
    changes: { by?: string; owner?: string | null } = {},
  ): void {
    const { by = attempt, owner = attempt } = changes;
    this.history.add('hosts', { kind: 'signalled', host, by, owner, process, signal: 'SIGTERM' });
  }

  end(allocation: Allocation, { attempt, process }: Started, exit: Exit = { code: 0 }): void {
    const { host } = allocation;
    this.history.add('hosts', { kind: 'ended', host, attempt, process, exit });
    for (const port of Object.values(allocation.ports))
      this.history.add('hosts', { kind: 'freed', host, what: 'port', name: String(port), attempt });
    this.#reports.get(host)?.delete(allocation.id);
  }

  /** From ticket to running. */
  launch(allocation: Allocation, job: Job): Started {
    this.grant(allocation, job);
    this.commit(true, allocation);
    this.order(allocation, job);
    return this.begin(allocation);
  }

  // --- the end ----------------------------------------------------------------------------------------------------------

  /** What a monitor shows now; what the hosts say by default. */
  view(monitor: string, changes: { leaveOut?: string; seq?: number; complete?: boolean } = {}): void {
    const hosts = [...this.#reports.keys()].filter((host) => host !== changes.leaveOut);
    this.history.add('views', {
      monitor,
      instance: 1,
      complete: changes.complete ?? true,
      hosts: hosts.map((host) => ({
        ...{ host, incarnation: 1, seq: changes.seq ?? this.#seqs.get(host) ?? 0 },
        ...{ asOfMs: this.nowMs, staleSinceMs: null, reports: this.reportsOf(host) },
      })),
    });
  }

  /** What a host says of what runs there. */
  reportOf(allocation: Allocation, changes: Partial<AllocationReport> = {}): AllocationReport {
    const { namespace, job, jobVersion, group, index, attempt, scheduler } = allocation;
    return {
      ...claimOf(allocation),
      ...{ namespace, job, jobVersion, group, index, attempt, scheduler },
      ...{ state: 'running', released: false, reason: '', restarts: 0, startedAtMs: this.nowMs, tasks: {} },
      ...changes,
    };
  }

  reportsOf(host: string): AllocationReport[] {
    return [...(this.#reports.get(host)?.values() ?? [])];
  }

  listing(host: string, reports = this.reportsOf(host)): void {
    this.history.add('listings', { host, incarnation: 1, seq: this.#seqs.get(host) ?? 0, reports });
  }

  quiet(lastsMs = 30_000): void {
    this.history.phase('quiet');
    this.nowMs += lastsMs;
  }

  finish(): void {
    for (const host of this.#reports.keys()) this.listing(host);
    for (const monitor of ['monitor-1', 'monitor-2']) this.view(monitor);
    this.history.phase('end');
  }

  check(changes: Partial<RunSetting> = {}): RunReport {
    return checkRun(this.history, { ...HAND_SETTING, ...changes });
  }

  /** The invariants that did not hold, each once, in order. */
  broken(changes: Partial<RunSetting> = {}): string[] {
    return [...new Set(this.check(changes).violations.map(({ invariant }) => invariant))].sort();
  }

  // ----------------------------------------------------------------------------------------------------------------------

  #ledger(host: string): Ledger {
    const entry = this.entry(KEYS.ledger(host));
    return entry === undefined ? EMPTY_LEDGER : ledgerCodec.decode(entry.value);
  }

  #report(allocation: Allocation, pid: number): void {
    const { host } = allocation;
    const reports = this.#reports.get(host) ?? new Map<string, AllocationReport>();
    this.#reports.set(host, reports);
    this.#seqs.set(host, (this.#seqs.get(host) ?? 0) + 1);
    reports.set(
      allocation.id,
      this.reportOf(allocation, { tasks: { work: { state: 'running', pid, restarts: 0 } } }),
    );
  }
}

function keyOf({ namespace, job, id }: Allocation): string {
  return KEYS.allocation(namespace, job, id);
}

function schedulerRecord(kind: string): string {
  const id = `${kind}-1`;
  const policy = `${kind}-binpack`;
  return roleCodec.encode({ kind: 'scheduler', id, address: '', version: '0', policy, startedAtMs: 0 });
}
