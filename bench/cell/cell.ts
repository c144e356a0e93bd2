/**
 * A whole cell for a bench, each role a process of its own on the test bed's etcd. This file starts the roles and reads how
 * much processor time each has used.
 *
 * - `k8s-shape.ts` measures the shapes of Kubernetes' own scheduler benchmark on it (`shapes.ts`); `secured.ts` runs that with TLS, certificates
 *   and rights, and without, in turns.
 * - `monitor.ts` measures what a monitor of many hosts costs, and how soon one that is started anew knows the cell.
 * - `tickets.ts` measures what a ticket costs its arbiter and its host.
 * - `handshake.ts` measures what a TLS connection between two roles costs.
 * - `oneoff.ts` measures one-off runs, `cli.ts` the command line, and `idle.ts` what nothing costs, on a development cell as `moorage dev` makes it.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import type { LocalRole } from '../../cli/local-cell/local-cell.ts';
import type { RunningProcess } from '../../cli/local-cell/processes.ts';
import { ANY_PORT, ProcessGroup } from '../../cli/local-cell/processes.ts';
import { processCpuUs } from '../testbed/process-cpu.ts';
import type { Bed } from '../testbed/testbed.ts';

export class BenchCell {
  readonly processes: ProcessGroup;
  readonly #bed: Bed;
  readonly #name: string;

  constructor(bed: Bed, name: string) {
    this.#bed = bed;
    this.#name = name;
    this.processes = new ProcessGroup({
      cliPath: builtFile('cli/main.cjs'),
      // As in `packaging/systemd`.
      nodeFlags: ['--max-semi-space-size=64'],
      logFolder: join(bed.folder, 'logs'),
      onEvent: (line) => process.stderr.write(`${line}\n`),
    });
  }

  async role(kind: LocalRole, more: readonly string[], number = 1): Promise<RunningProcess> {
    const id = `${kind}-${String(number)}`;
    const own = await this.#bed.secured?.certificates.issue(kind === 'hollow' ? 'agent' : kind, id);
    const common = [
      '--cell',
      this.#name,
      '--etcd',
      this.#bed.etcd.clientUrl,
      '--id',
      id,
      '--listen',
      ANY_PORT,
      ...(own === undefined ? [] : ['--credentials', own]),
    ];
    return this.processes.start(id, [kind, ...common, '--log-level', 'warn', ...more]);
  }

  /** Processor seconds that each process of the cell has used, by its name. */
  cpuSeconds(): ReadonlyMap<string, number> {
    const pids: readonly (readonly [string, number])[] = [
      ...([
        ['etcd', this.#bed.etcd.pid],
        ['bench', process.pid],
      ] as const),
      ...this.processes.members.map(({ name, pid }) => [name.replace('-1', ''), pid] as const),
    ];
    return new Map(pids.map(([name, pid]) => [name, processCpuUs({ pid }) / 1e6]));
  }

  /** Waits until the schedulers use next to no processor: an idle scheduler warms up, and has done so by then. */
  async untilSchedulersRest(deadlineMs: number): Promise<void> {
    const schedulers = this.processes.members.filter(({ name }) => name.startsWith('scheduler')).length;
    const used = (): number =>
      [...this.cpuSeconds()].reduce(
        (sum, [name, seconds]) => sum + (name.startsWith('scheduler') ? seconds : 0),
        0,
      );
    let before = used();
    for (let restedMs = 0; restedMs < REST_MS; before = used()) {
      if (performance.now() > deadlineMs) throw new Error('the schedulers did not come to rest in time');
      await sleep(REST_POLL_MS);
      const isResting = (used() - before) * 1_000 < REST_POLL_MS * REST_BUSY_MAX * schedulers;
      restedMs = isResting ? restedMs + REST_POLL_MS : 0;
    }
  }
}

/** Longer than a scheduler is idle before it warms up. */
const REST_MS = 2_500;
const REST_POLL_MS = 500;
/** Of a processor, for each scheduler: reports of the hosts go on. */
const REST_BUSY_MAX = 0.3;
