import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { runArbiter } from '../../arbiter/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { runMonitor } from '../../monitor/main.ts';
import { runScheduler } from '../../schedulers/main.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { webSocketClient } from '../../src/adapters/http/channel-client.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import type { Showing } from '../../src/adapters/pki/bearer.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import { isForAnybody } from '../../src/core/access/access.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import type { HttpClient, Method } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import { TestAuthority } from './credentials.ts';
import { removeFolder } from './folders.ts';
import { PLAIN_SHIM, readAll } from './real-host.ts';
import type { ServedRoute, ServerRole } from './rights-table.ts';
import { servedRoutes } from './rights-table.ts';

export const CELL = 'rights';
export const TIMEOUT_MS = 60_000;
const LISTEN = { host: '127.0.0.1', port: 0 };

/** What came of a call: `refused`, by who calls or its rights; `closed`, before any route was chosen; `let-in` to the route. */
export type Fate = 'refused' | 'closed' | 'let-in';

/** One process of each role, over TLS, in this one; and what comes of calls to them. */
export class RightsCell {
  readonly addresses: Partial<Record<ServerRole, string>> = {};
  readonly authority: TestAuthority;
  readonly #closers: (() => Promise<unknown> | void)[] = [];
  #etcd: readonly string[] = [];
  #stopScheduler: () => Promise<void> = () => Promise.resolve();

  private constructor(authority: TestAuthority) {
    this.authority = authority;
    this.#closers.push(() => authority[Symbol.dispose]());
  }

  static async start(): Promise<RightsCell> {
    const cell = new RightsCell(await TestAuthority.of(CELL));
    try {
      await cell.#start();
    } catch (error) {
      await cell.close();
      throw error;
    }
    return cell;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  /** Another takes over what its scheduler owns. */
  async replaceScheduler(id: string): Promise<void> {
    await this.#stopScheduler();
    await this.#startScheduler(id);
  }

  urlOf({ server, path }: ServedRoute): string {
    return `${this.addresses[server] ?? ''}${path.replaceAll(/:\w+/g, 'nobodys')}`;
  }

  async expectFates(showing: Showing, expected: (route: ServedRoute) => Fate): Promise<void> {
    const routes = servedRoutes();
    const seen: string[] = [];
    for (const route of routes) seen.push(shown(route, await this.#fateOf(route, showing)));
    expect(seen).toEqual(routes.map((route) => shown(route, expected(route))));
  }

  /** A call with nothing in it: who is let in learns that something is missing, and changes nothing. */
  async #fateOf(route: ServedRoute, showing: Showing): Promise<Fate> {
    const http = clientWith(showing);
    const over = new AbortController();
    try {
      const url = this.urlOf(route);
      if (route.method === 'CHANNEL') {
        const answer = await webSocketClient(showing).open({ url, timeoutMs: TIMEOUT_MS });
        if (answer.kind === 'open') return 'let-in';
        return isRefused(answer.answer.status, JSON.stringify(answer.answer.body)) ? 'refused' : 'let-in';
      }
      const { status, chunks } = await http.stream({
        ...{ method: route.method as Method, url, timeoutMs: TIMEOUT_MS, idleTimeoutMs: TIMEOUT_MS },
        signal: over.signal,
      });
      if (!REFUSALS.has(status)) return 'let-in';
      return isRefused(status, String(await readAll(chunks))) ? 'refused' : 'let-in';
    } catch (error) {
      if (error instanceof HttpError) return 'closed';
      throw error;
    } finally {
      over.abort();
      await http.close();
    }
  }

  async #start(): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-rights-'));
    this.#closers.push(() => removeFolder(folder));
    const { authority } = this;
    const { path: binary } = await findEtcd({ env: process.env });
    const store = await startEtcd({
      ...{ binary, dataFolder: join(folder, 'etcd'), unsafeNoFsync: true },
      credentials: await authority.credentials('etcd', 'etcd-1'),
    });
    this.#closers.push(() => store.stop());
    this.#etcd = [store.clientUrl];
    const common = this.#common();
    const reach = (role: IdentityRole, id: string) => this.#reach(role, id);
    const { signingKeyFile, pinnedKeysFile } = await makeKeyFiles(join(folder, 'keys'));
    const add = (role: ServerRole, running: { address: string; stop: () => Promise<void> }): void => {
      this.addresses[role] = running.address;
      this.#closers.push(() => running.stop());
    };
    add(
      'monitor',
      await runMonitor({ ...common, id: 'monitor-1', ...(await reach('monitor', 'monitor-1')) }),
    );
    const arbiter = await reach('arbiter', 'arbiter-1');
    add('arbiter', await runArbiter({ ...common, id: 'arbiter-1', signingKeyFile, ...arbiter }));
    await this.#startScheduler('batch-1');
    add(
      'agent',
      await runAgent({
        ...{
          ...common,
          id: 'host-1',
          pinnedKeysFile,
          ownStartMs: 0,
          shim: PLAIN_SHIM,
          stateFolder: join(folder, 'host-1'),
        },
        ...(await reach('agent', 'host-1')),
      }),
    );
  }

  #common() {
    return { cell: CELL, etcd: this.#etcd, listen: LISTEN, version: '0', log: silentLog };
  }

  async #reach(role: IdentityRole, id: string) {
    return { reach: { credentials: await this.authority.credentials(role, id) } };
  }

  async #startScheduler(id: string): Promise<void> {
    const running = await runScheduler({
      ...{ ...this.#common(), id, kind: 'batch', enforcement: true },
      ...(await this.#reach('scheduler', id)),
    });
    this.addresses.scheduler = running.address;
    this.#stopScheduler = () => running.stop();
    this.#closers.push(this.#stopScheduler);
  }
}

export const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/** Of who is let in: a monitor, asked for whom it does that; a person, told that the namespace is not of its token. */
const LET_IN = /"code":"(not-delegated|other-namespace)"/;

export function isRefused(status: number, body: string): boolean {
  return REFUSALS.has(status) && !LET_IN.test(body);
}

export function clientWith(showing: Showing): HttpClient {
  return 'token' in showing ? nodeClient(showing) : undiciClient({ credentials: showing });
}

export function shown(route: ServedRoute, fate: Fate): string {
  return `${route.server} ${route.method} ${route.path}: ${fate}`;
}

/** A monitor lets people speak who have no certificate, and asks them for a token, but for the page's own files. */
export function strangers({ server, right }: ServedRoute): Fate {
  if (isForAnybody(right)) return 'let-in';
  return server === 'monitor' ? 'refused' : 'closed';
}

export async function runningOf(operator: MonitorClient, job: string): Promise<string> {
  for (;;) {
    const { allocations } = await operator.allocations({ namespace: 'default', job });
    const running = allocations.find(({ report }) => report?.state === 'running');
    if (running !== undefined) return running.allocation.id;
    await pause(50);
  }
}

/** Stops a job, and waits until nothing of it runs: what outlives a test's agent would stay on the machine. */
export async function stopped(operator: MonitorClient, job: string, namespace = 'default'): Promise<void> {
  await operator.stop({ namespace, job });
  for (;;) {
    const { allocations } = await operator.allocations({ namespace, job });
    if (allocations.every(({ report }) => report !== null && isTerminal(report.state))) return;
    await pause(50);
  }
}
