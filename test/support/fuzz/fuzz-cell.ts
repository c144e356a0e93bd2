import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bearerOf } from '../../../src/adapters/pki/bearer.ts';
import type { Bearer } from '../../../src/adapters/pki/bearer.ts';
import type { Credentials } from '../../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../../src/adapters/pki/credentials.ts';
import { delegationSigner } from '../../../src/adapters/pki/delegations.ts';
import { seal } from '../../../src/adapters/pki/sealed-box.ts';
import { undiciClient } from '../../../src/adapters/http/client.ts';
import { readSigningKey } from '../../../src/adapters/tickets/key-files.ts';
import { ticketSigner } from '../../../src/adapters/tickets/tickets.ts';
import { HostClient } from '../../../src/clients/host-client.ts';
import { MonitorClient } from '../../../src/clients/monitor-client.ts';
import type { IdentityRole } from '../../../src/core/access/identity.ts';
import { isTerminal } from '../../../src/core/host/states.ts';
import type { SignDelegation, TicketSigner } from '../../../src/ports/crypto.ts';
import type { DevCellProcess } from '../cli.ts';
import { issueFor, startDevCell } from '../cli.ts';
import { newId, someStop } from '../host-orders.ts';
import type { ServedRoute, ServerRole } from '../rights-table.ts';
import { has } from '../rights-table.ts';

/** Whose requests they are: of one that has the right of the route. */
const ROLES = ['operator', 'monitor', 'scheduler'] as const satisfies readonly IdentityRole[];
type FuzzRole = (typeof ROLES)[number];

/** One of each kind, by the names that a development cell gives. */
const SERVERS: Readonly<Record<ServerRole, string>> = {
  monitor: 'monitor-1',
  agent: 'host-1',
  scheduler: 'service-1',
  arbiter: 'arbiter-1',
};
const INVITATIONS = 8;
const WAIT_MS = 50;
export const FUZZ_SCHEDULER = 'fuzz-scheduler';

/** A development cell of real processes, and all that a caller needs who has every right in it. */
export class FuzzCell {
  readonly addresses: Record<ServerRole, string>;
  /** The host that is asked: where an allocation runs. */
  agent = SERVERS.agent;
  incarnation = 0;
  readonly signDelegation: SignDelegation;
  readonly tickets: TicketSigner;
  readonly #cell: DevCellProcess;
  readonly #credentials: Readonly<Record<FuzzRole, Credentials>>;
  readonly #http: ReturnType<typeof undiciClient>;
  readonly #asScheduler: ReturnType<typeof undiciClient>;
  readonly #operator: MonitorClient;
  #invited: readonly Bearer[] = [];
  #turn = 0;
  #known: Readonly<Record<string, string>> = {};

  private constructor(
    cell: DevCellProcess,
    credentials: Readonly<Record<FuzzRole, Credentials>>,
    tickets: TicketSigner,
  ) {
    this.#cell = cell;
    this.#credentials = credentials;
    this.tickets = tickets;
    this.signDelegation = delegationSigner(credentials.monitor);
    this.#http = undiciClient({ credentials: credentials.operator });
    this.#asScheduler = undiciClient({ credentials: credentials.scheduler });
    const found = Object.entries(SERVERS).map(([server, id]) => [server, this.#firstWith(id, 'address')]);
    this.addresses = Object.fromEntries(found) as Record<ServerRole, string>;
    this.#operator = new MonitorClient(this.#http, { urls: [this.addresses.monitor], from: 'a test' });
  }

  static async start(folder: string): Promise<FuzzCell> {
    const cell = await startDevCell(folder);
    const keys = join(folder, '.moorage', 'cells', cell.file.cell, 'keys', 'arbiter.secret');
    const issued: Partial<Record<FuzzRole, Credentials>> = {};
    for (const role of ROLES)
      issued[role] = openCredentials(await issueFor(cell, role, `fuzz-${role}`), null);
    const made = new FuzzCell(
      cell,
      issued as Record<FuzzRole, Credentials>,
      ticketSigner(await readSigningKey(keys)),
    );
    try {
      await made.#invite();
      await made.renew();
      return made;
    } catch (error) {
      await made.stop();
      throw error;
    }
  }

  async #invite(): Promise<void> {
    const { authorities } = this.#credentials.operator.now;
    const made: Bearer[] = [];
    for (let n = 0; n < INVITATIONS; n++) {
      const one = await this.#operator.invite({
        host: `joiner-${String(n)}`,
        hosts: ['127.0.0.1'],
        ttlMs: 3_600_000,
      });
      made.push(bearerOf(one.shown, authorities));
    }
    this.#invited = made;
  }

  showingFor({ right }: ServedRoute): Credentials | Bearer {
    const role = ROLES.find((one) => has(one, right));
    if (role !== undefined) return this.#credentials[role];
    this.#turn += 1;
    return this.#invited[this.#turn % this.#invited.length] ?? this.#credentials.operator;
  }

  /** A start was taken. */
  noteStarted(id: string): void {
    this.#known = { ...this.#known, started: id };
  }

  /** What stands for `@name` in an input. @param fresh an id that nothing has yet */
  fill(text: string, fresh: string): string {
    return text.replaceAll(/@(new|[a-zA-Z]+)/g, (whole, name: string) =>
      name === 'new' ? fresh : (this.#known[name] ?? whole),
    );
  }

  /**
   * Puts the cell back to where much can be reached: hosts take work, nothing is paused, what was submitted is gone, one
   * allocation runs that every input about an allocation may name.
   */
  async renew(): Promise<void> {
    const operator = this.#operator;
    for (const { host } of (await operator.hosts()).hosts)
      await operator.setEligibility(host.id, { state: 'ready', reason: 'made so' });
    for (const what of ['placement', 'eviction'] as const) await operator.resume(what);
    for (const { namespace } of (await operator.quotas()).quotas) await operator.removeQuota(namespace);
    await operator.setQuota('default', {
      cpuMilli: 4_000,
      memoryMib: 4_096,
      gpuMilli: null,
      allocations: 20,
    });
    for (const { namespace, name } of (await operator.jobs()).jobs)
      if (namespace !== 'kept') await operator.delete({ namespace, job: name });
    const { allocations } = await new HostClient(this.#asScheduler).list(this.addresses.agent);
    for (const { id, scheduler } of allocations) if (scheduler === FUZZ_SCHEDULER) await this.#forget(id);
    for (const { id } of (await operator.tokens()).tokens) await operator.revokeToken(id);
    await operator.submit(KEPT);
    await this.#lookAround();
  }

  async #forget(id: string): Promise<void> {
    const hosts = new HostClient(this.#asScheduler);
    await hosts.stop(this.addresses.agent, id, someStop());
    await hosts.remove(this.addresses.agent, id, 'over');
  }

  async #lookAround(): Promise<void> {
    const { publicKey } = generateKeyPairSync('ed25519');
    const { id: token } = await this.#operator.createToken({
      name: 'bob',
      scope: 'read',
      namespaces: null,
      ttlMs: 600_000,
    });
    const page = readdirSync(new URL('../../../dist/page/', import.meta.url)).find((name) =>
      name.endsWith('.js'),
    );
    const allocation = await this.#running();
    this.#known = {
      ...{ allocation, token, host: this.agent, scheduler: FUZZ_SCHEDULER },
      ...{ revision: '1', started: newId(), file: page ?? '', proof: 'AAAA' },
      publicKey: String(publicKey.export({ type: 'spki', format: 'pem' })),
      sealed: seal(
        generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey,
        Buffer.from('secret'),
        'default/one',
      ),
    };
  }

  async #running(): Promise<string> {
    for (;;) {
      const { allocations } = await this.#operator.allocations({ namespace: 'kept', job: 'kept' });
      const found = allocations.find(
        ({ report }) => report !== null && !isTerminal(report.state) && report.state === 'running',
      );
      if (found !== undefined) {
        this.agent = found.allocation.host;
        this.addresses.agent = this.#firstWith(this.agent, 'address');
        this.incarnation = Number(this.#firstWith(this.agent, 'incarnation'));
        return found.allocation.id;
      }
      await new Promise((next) => setTimeout(next, WAIT_MS));
    }
  }

  /** Of every process of the cell, by its name. */
  pids(): ReadonlyMap<string, number> {
    const line = /^processes: (.*)$/m.exec(this.#cell.output())?.[1] ?? '';
    return new Map(line.split(', ').map((one) => [one.split(' ')[0] ?? '', Number(one.split(' ')[1])]));
  }

  /** Resident, of the four that are asked, in MiB. */
  memory(): Readonly<Record<string, number>> {
    const pids = this.pids();
    const of = (id: string): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${String(pids.get(id))}/status`, 'utf8'))?.[1] ?? 0) /
      1024;
    return Object.fromEntries(Object.entries(SERVERS).map(([server, id]) => [server, Math.round(of(id))]));
  }

  /** What the cell itself said of its processes. */
  said(): string {
    return this.#cell.output();
  }

  /** Every line of every role's log. */
  *lines(): Generator<string> {
    const folder = this.#logs;
    for (const name of readdirSync(folder)) yield* readFileSync(join(folder, name), 'utf8').split('\n');
  }

  get #logs(): string {
    return join(this.#cell.folder, '.moorage', 'cells', this.#cell.file.cell, 'logs');
  }

  #firstWith(id: string, field: string): string {
    const lines = readFileSync(join(this.#logs, `${id}.log`), 'utf8').split('\n');
    for (const line of lines) {
      if (!line.startsWith('{')) continue;
      const value = (JSON.parse(line) as Readonly<Record<string, string | number | undefined>>)[field];
      if (value !== undefined) return String(value);
    }
    throw new Error(`${id} says nothing of its ${field}`);
  }

  async stop(): Promise<number | null> {
    await this.#http.close();
    await this.#asScheduler.close();
    for (const one of Object.values(this.#credentials)) one.close();
    return (await this.#cell.stop()).code;
  }
}

const KEPT = {
  ...{ name: 'kept', namespace: 'kept', type: 'service' },
  command: ['sh', '-c', 'echo up; while :; do read -r line && echo "$line" || sleep 1; done'],
  resources: { cpu: '10m', memory: '32Mi' },
};
