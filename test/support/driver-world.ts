import type { AllocationUsage } from '../../src/wire/api/usage-api.ts';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentOptions, RunningAgent } from '../../host-agent/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { linuxCgroups } from '../../src/adapters/processes/cgroups.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { MemoryCell } from '../../src/adapters/memory/cell.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { HostClient } from '../../src/clients/host-client.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { StartRequest } from '../../src/wire/api/host-api.ts';
import { hostCodec } from '../../src/wire/records/records.ts';
import { someStop } from './host-orders.ts';
import type { TestFolder } from './real-host.ts';
import { buildShim, hostClient, readAll, stateFolder, untilReport } from './real-host.ts';

const BUILT = fileURLToPath(new URL('../../dist/host-agent/native/moorage-shim', import.meta.url));

/** A host-agent on this machine, with all that its tasks are run with. */
export class DriverWorld {
  readonly folder: TestFolder = stateFolder();
  readonly #http = hostClient();
  readonly #cell = new MemoryCell({ clock: systemClock });
  agent!: RunningAgent;

  get client(): HostClient {
    return this.#http.client;
  }

  async open(options: Partial<AgentOptions> = {}): Promise<void> {
    // Compiling takes longer than all else here: the build's is good enough, where there is one.
    const shim = existsSync(BUILT) ? BUILT : buildShim(this.folder.path);
    this.agent = await runAgent({
      cell: 'test',
      etcd: [],
      id: 'host-a',
      version: 'test',
      listen: { host: '127.0.0.1', port: 0 },
      log: silentLog,
      stateFolder: `${this.folder.path}/state`,
      requireTickets: false,
      stopTasksOnExit: true,
      capacity: { cpuMilli: 16_000, memoryMib: 16_384, diskMib: 16_384 },
      store: new MemoryCellStore({ clock: systemClock, cell: this.#cell }),
      ...(shim === null ? {} : { shim: { kind: 'native' as const, path: shim } }),
      ...options,
    });
  }

  /** What the allocation uses now, as its agent says. */
  async usage(id: string): Promise<AllocationUsage | undefined> {
    const { allocations } = await this.#http.client.usage(this.agent.address);
    return allocations.find((one) => one.id === id);
  }

  /** The cell's store, as another role of it has it. */
  store(): MemoryCellStore {
    return new MemoryCellStore({ clock: systemClock, cell: this.#cell });
  }

  /** As it is registered. */
  async host(): Promise<Host> {
    const store = this.store();
    const key = cellKeys('test').host('host-a');
    const { entries } = await store.read([key]);
    await store.close();
    return hostCodec.decode(entries.get(key)?.value ?? '');
  }

  async start(order: StartRequest): Promise<string> {
    const started = await this.#http.client.start(this.agent.address, order);
    if (started.kind !== 'started') throw new Error(JSON.stringify(started));
    return order.allocation.id;
  }

  until(id: string, test: (report: AllocationReport) => boolean): Promise<AllocationReport> {
    return untilReport(this.#http.client, this.agent.address, id, test);
  }

  /** From the start to the release. */
  async run(order: StartRequest): Promise<{ readonly report: AllocationReport; readonly output: string }> {
    const id = await this.start(order);
    const report = await this.until(id, (one) => one.released);
    return { report, output: await this.output(id) };
  }

  async stop(id: string): Promise<AllocationReport> {
    await this.#http.client.stop(this.agent.address, id, someStop());
    return this.until(id, (report) => report.released);
  }

  async output(id: string, stream: 'stdout' | 'stderr' = 'stdout'): Promise<string> {
    const log = await this.#http.client.logs(this.agent.address, id, {
      task: 'main',
      stream,
      offset: 0,
      follow: false,
    });
    return (await readAll(log.chunks)).toString();
  }

  /** Resolves when the task has said it. */
  async said(id: string, text: string): Promise<void> {
    while (!(await this.output(id)).includes(text)) await new Promise((next) => setTimeout(next, 20));
  }

  async close(): Promise<void> {
    await this.agent.stop();
    await this.#http.close();
    this.folder[Symbol.dispose]();
  }
}

/** What is left of an allocation on this machine: processes that carry its mark, and groups of its name. */
export async function leftOf(id: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`MOORAGE_ATTEMPT=${id}.`))
        found.push(`process ${pid}`);
    } catch {
      // It ended while we looked.
    }
  }
  const cgroups = linuxCgroups();
  for (const { path } of await cgroups.mounts())
    for (const name of await cgroups.list(`${path}/moorage`))
      if (name.includes(`.${id}.`)) found.push(`group ${path}/moorage/${name}`);
  return found;
}
