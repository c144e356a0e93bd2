import { createSocket } from 'node:dgram';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decode, encode } from 'dns-packet';
import { fastifyServer } from '../../src/adapters/http/http.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { hostCodec, jobCodec } from '../../src/wire/records/records.ts';
import { hostRecord, jobOf } from '../../test/support/monitor-world.ts';
import { ReportingHost, reportOf } from '../../test/support/reporting-host.ts';
import { BenchCell } from '../cell/cell.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';
import { startBed } from '../testbed/testbed.ts';

const values = flagsOf({ seconds: 10, changes: 500, instances: 100, samples: 200 });
const CELL = 'bench';
const NAME = 'http.web.web.default';
const BEAT_MS = 1_000;
/** Asked for by their own name: one instance of its own. */
const PROBE = 'http.probe.probe.default';

/** Questions over one socket, each answered or given up. */
class Asker {
  readonly #socket = createSocket('udp4');
  readonly #port: number;
  readonly #waiting = new Map<number, (ports: readonly number[]) => void>();
  #id = 0;

  constructor(port: number) {
    this.#port = port;
    this.#socket.on('message', (bytes) => {
      const { id = 0, answers = [] } = decode(bytes);
      this.#waiting.get(id)?.(answers.flatMap((one) => (one.type === 'SRV' ? [one.data.port] : [])));
      this.#waiting.delete(id);
    });
  }

  /** The ports of who serves. */
  ask(name: string): Promise<readonly number[]> {
    this.#id = (this.#id + 1) % 65_536;
    const id = this.#id;
    const packet = encode({ type: 'query', id, questions: [{ name: `${name}.moorage`, type: 'SRV' }] });
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(packet, this.#port, '127.0.0.1');
      setTimeout(() => this.#waiting.delete(id) && resolve([-1]), 1_000).unref();
    });
  }

  close(): void {
    this.#socket.close();
  }
}

const bed = await startBed();
const cell = new BenchCell(bed, CELL);
const keys = cellKeys(CELL);
const host = await new ReportingHost('h1').listen(fastifyServer({ log: silentLog }));
const beat = setInterval(() => host.beat(), BEAT_MS);
let asker: Asker | null = null;
try {
  const put = (key: string, value: string) => ({ kind: 'put' as const, key, value });
  const write = async (writes: readonly ReturnType<typeof put>[]): Promise<void> => {
    const { outcome } = await bed.store.attempt({ compares: [], writes, readBack: [] });
    if (outcome !== 'applied') throw new Error(`the bench's own write: ${outcome}`);
  };
  await write([
    put(keys.host('h1'), hostCodec.encode(hostRecord('h1', host.address))),
    put(keys.aliveOf('h1'), '{"v":1}'),
    ...['web', 'probe'].map((name) => {
      const job = jobOf({ name, type: 'service', ports: { http: 'auto' } });
      return put(
        keys.job('default', name),
        jobCodec.encode({ job, version: 1, desired: 'run', submittedAtMs: 1 }),
      );
    }),
  ]);
  const report = (job: string, index: number, port: number, ready: boolean, attempt = 1): AllocationReport =>
    reportOf('h1', `${job}-${String(index)}-${String(attempt)}`, {
      ...{ job, group: job, index, attempt, ports: { http: port } },
      tasks: { main: { state: 'running', restarts: 0, ready } },
    });
  for (let index = 0; index < values.instances; index++)
    host.change(report('web', index, 10_000 + index, true));
  host.change(report('probe', 0, 9_000, true));
  await cell.role('monitor', []);
  const agent = await cell.role('agent', [
    '--no-tickets',
    '--data',
    join(bed.folder, 'h2'),
    '--dns=127.0.0.1:0',
  ]);
  let dns = '';
  while (dns === '') {
    const key = keys.host(agent.ready.id);
    const entry = (await bed.store.read([key])).entries.get(key);
    dns = entry === undefined ? '' : (hostCodec.decode(entry.value).attributes['dns'] ?? '');
  }
  const ask = (asker = new Asker(Number(dns.split(':')[1])));
  while ((await ask.ask(PROBE)).length !== 1);
  // More than fits into an answer over UDP; it is asked for so that its changes go all the way.
  await ask.ask(NAME);

  // Changes of others, all the time.
  let changes = 0;
  const startedMs = performance.now();
  let isOver = false;
  const churn = (async () => {
    const ready = Array<boolean>(values.instances).fill(true);
    while (!isOver) {
      const due = ((performance.now() - startedMs) * values.changes) / 1_000;
      for (; changes < due; changes++) {
        const index = changes % values.instances;
        ready[index] = ready[index] !== true;
        host.change(report('web', index, 10_000 + index, ready[index] === true));
      }
      await sleep(2);
    }
  })();

  // From the report to the first answer that shows it.
  const staleMs: number[] = [];
  let lookups = 0;
  const until = async (holds: (ports: readonly number[]) => boolean): Promise<number> => {
    const fromMs = performance.now();
    for (;;) {
      lookups += 1;
      if (holds(await ask.ask(PROBE))) return performance.now() - fromMs;
    }
  };
  for (let sample = 0; sample < values.samples; sample++) {
    const ready = sample % 2 === 1;
    host.change(report('probe', 0, 9_000, ready));
    staleMs.push(await until((ports) => (ports.length === 1) === ready));
    await sleep(5);
  }

  // One instance takes the place of another: the old endpoint goes before the new one is told, and never comes back.
  let [both, returned] = [0, 0];
  host.change(report('probe', 0, 9_000, true));
  for (let attempt = 2; attempt < 52; attempt++) {
    const fresh = 9_000 + attempt;
    host.change(report('probe', 0, fresh, true, attempt));
    let seen = false;
    await until((ports) => {
      if (ports.length > 1) both += 1;
      if (seen && !ports.includes(fresh)) returned += 1;
      return (seen = ports.includes(fresh));
    });
    if (!(await ask.ask(PROBE)).includes(fresh)) returned += 1;
  }
  isOver = true;
  await churn;
  const changesPerSecond = changes / ((performance.now() - startedMs) / 1_000);

  // As fast as one asker goes, with 32 questions under way; the agent answers 5,000 packets a second and drops the rest.
  lookups = 0;
  let dropped = 0;
  const endMs = performance.now() + values.seconds * 1_000;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (performance.now() < endMs) {
        const ports = await ask.ask(PROBE);
        if (ports[0] === -1) dropped += 1;
        else lookups += 1;
      }
    }),
  );
  console.log(
    `names instances=${values.instances} changes_per_second=${changesPerSecond.toFixed(0)} samples=${values.samples}` +
      ` stale_ms_p50=${percentile(staleMs, 0.5).toFixed(1)} stale_ms_p99=${percentile(staleMs, 0.99).toFixed(1)}` +
      ` stale_ms_max=${Math.max(...staleMs).toFixed(1)} replaced=50 both_told=${both} old_came_back=${returned}` +
      ` lookups_per_second=${(lookups / values.seconds).toFixed(0)} dropped=${dropped} wanted=stale_ms_p99<=1000`,
  );
} finally {
  asker?.close();
  clearInterval(beat);
  await cell.processes.stopAll();
  await host.close();
  await bed.close();
}
