import { randomBytes } from 'node:crypto';
import { errorText } from '../../src/core/errors/errors.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { delegationSigner } from '../../src/adapters/pki/delegations.ts';
import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { readSigningKey } from '../../src/adapters/tickets/key-files.ts';
import { ticketSigner } from '../../src/adapters/tickets/tickets.ts';
import { Delegator } from '../../src/clients/delegator.ts';
import { HostClient } from '../../src/clients/host-client.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { askOf } from '../../src/core/cell/ask.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { claimOf, TICKET_TTL_MS } from '../../src/core/quota/ticket.ts';
import type { TicketSigner } from '../../src/ports/crypto.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { Launch } from '../../src/wire/api/host-api.ts';
import type { BootstrapState, SystemTask } from '../../src/wire/join/bootstrap-file.ts';
import { hostOf } from './system-job.ts';

/** The scheduler in whose name the first tasks are started: there is no other yet. */
export const BOOTSTRAP = 'bootstrap';
const PLAN = 'bootstrap';
/** Of its log, when it fails. */
const LINES_TOLD = 20;
const LOG_BYTES_MAX = 256 * 1024;

/** A task of the cell that does not run, with the end of its log. */
export class TaskFailed extends Error {
  override readonly name = 'TaskFailed';
}

/** Orders to the agents of the hosts, as a scheduler gives them, with tickets that are signed here: there is no arbiter yet. */
export class HostOrders {
  readonly #state: BootstrapState;
  readonly #hosts: HostClient;
  /** Their output is passed on by monitors. */
  readonly #logs: HostClient;
  readonly #signer: TicketSigner;
  readonly #nowMs: () => number;

  static async of(
    state: BootstrapState,
    scheduler: Credentials,
    more: { readonly monitor: Credentials; readonly signingKeyFile: string; readonly nowMs: () => number },
  ): Promise<HostOrders> {
    const signer = ticketSigner(await readSigningKey(more.signingKeyFile));
    return new HostOrders(state, { scheduler, monitor: more.monitor, signer, nowMs: more.nowMs });
  }

  private constructor(
    state: BootstrapState,
    deps: {
      readonly scheduler: Credentials;
      readonly monitor: Credentials;
      readonly signer: TicketSigner;
      readonly nowMs: () => number;
    },
  ) {
    this.#state = state;
    this.#hosts = new HostClient(nodeClient(deps.scheduler));
    const sign = delegationSigner(deps.monitor);
    const delegator = new Delegator({ sign, digest: sha256Hex, clock: systemClock });
    this.#logs = new HostClient(nodeClient(deps.monitor), { delegator });
    this.#signer = deps.signer;
    this.#nowMs = deps.nowMs;
  }

  /** @returns false: it does not answer, or not as an agent of this cell */
  async isThere(host: string): Promise<boolean> {
    return (await this.#orNone(() => this.#hosts.list(hostOf(this.#state, host).url))) !== null;
  }

  /** @returns null: the host does not know it; `away`: the host does not answer */
  async report(host: string, allocation: string): Promise<AllocationReport | null | 'away'> {
    const { url } = hostOf(this.#state, host);
    const found = await this.#orNone(async () => ({ report: await this.#hosts.get(url, allocation) }));
    return found === null ? 'away' : found.report;
  }

  /**
   * Starts it where it does not run yet. The same order may be given again.
   * @returns `away`: the host does not answer, and whether it was started is not known; `ended`: it was started, and has ended
   * @throws TaskFailed: it was refused
   */
  async start(task: SystemTask, job: Job): Promise<'runs' | 'ended' | 'away'> {
    const { url } = hostOf(this.#state, task.host);
    const listing = await this.#orNone(() => this.#hosts.list(url));
    if (listing === null) return 'away';
    const known = listing.allocations.find(({ id }) => id === task.allocation);
    if (known !== undefined) return isTerminal(known.state) ? 'ended' : 'runs';
    const allocation = allocationOf(this.#state, task, job, this.#nowMs());
    const launch = launchOf(job, task);
    const [ticket = ''] = await this.#signer.sign([
      {
        ...{ aud: task.host, hostIncarnation: listing.incarnation },
        ...{ namespace: job.namespace, job: job.name, scheduler: BOOTSTRAP, epoch: allocation.epoch },
        ...{ claim: claimOf(allocation), commandDigest: sha256Hex(canonicalJson(launch)) },
        ...{ jti: makeId(this.#nowMs(), randomBytes(16)), notBeforeMs: this.#nowMs() },
        expiresMs: this.#nowMs() + TICKET_TTL_MS,
      },
    ]);
    const outcome = await this.#hosts.start(url, { commandId: task.allocation, allocation, launch, ticket });
    if (outcome.kind === 'refused')
      throw new TaskFailed(`${task.host} refuses ${task.name}: ${outcome.detail}`);
    return outcome.kind === 'started' ? 'runs' : 'away';
  }

  /** @throws TaskFailed when it has ended, or waits to be started again: with the last lines that it wrote */
  async check(task: SystemTask): Promise<void> {
    const report = await this.report(task.host, task.allocation);
    if (report === null || report === 'away') return;
    const own = Object.values(report.tasks)[0];
    if (!isTerminal(report.state) && own?.lastExit === undefined && (own?.restarts ?? 0) === 0) return;
    const how = isTerminal(report.state)
      ? `${report.state}: ${report.reason}`
      : 'it ended, and is started again';
    const lines = await this.log(task);
    throw new TaskFailed(
      [`${task.name} on ${task.host} does not run (${how}); its log ends with:`, ...lines].join('\n'),
    );
  }

  /** What it wrote last. */
  async log(task: SystemTask): Promise<readonly string[]> {
    const { url } = hostOf(this.#state, task.host);
    const texts: string[] = [];
    for (const stream of ['stdout', 'stderr'] as const) {
      try {
        const request = { task: task.name, stream, offset: 0, follow: false };
        const behalf = { by: `operator/${BOOTSTRAP}`, host: task.host };
        const { chunks } = await this.#logs.logs(url, task.allocation, request, behalf);
        const decoder = new TextDecoder();
        let text = '';
        for await (const chunk of chunks)
          text = (text + decoder.decode(chunk, { stream: true })).slice(-LOG_BYTES_MAX);
        texts.push(...text.split('\n').filter((line) => line.trim() !== ''));
      } catch (error) {
        texts.push(`(its ${stream} cannot be read: ${errorText(error)})`);
      }
    }
    return texts.slice(-LINES_TOLD).map((line) => `  ${line}`);
  }

  async #orNone<T>(ask: () => Promise<T>): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof HttpError) return null;
      throw error;
    }
  }
}

function launchOf(job: Job, { name }: SystemTask): Launch {
  const group = job.groups[name];
  if (group === undefined) throw new Error(`there is no group ${name}`);
  return { tasks: group.tasks, restart: group.restart, deadlineMs: group.deadlineMs };
}

/** As a scheduler would have placed it. */
export function allocationOf(
  { incarnation }: BootstrapState,
  { name, host, allocation }: SystemTask,
  job: Job,
  nowMs: number,
): Allocation {
  const group = job.groups[name];
  if (group === undefined) throw new Error(`there is no group ${name}`);
  return {
    ...{ id: allocation, host, precedence: job.precedence, resources: askOf(group).resources },
    ...{ gpus: [], ports: {}, namespace: job.namespace, job: job.name, jobVersion: 1, group: name },
    ...{ index: 0, attempt: 1, scheduler: BOOTSTRAP, desired: 'run', planId: PLAN },
    ...{ epoch: { incarnation, counter: 0 }, createdAtMs: nowMs },
  };
}
