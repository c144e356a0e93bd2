import type { AllocationReport, HostReport } from '../../src/core/host/report.ts';
import { NO_RESOURCES } from '../../src/core/cell/resources.ts';
import type { HttpListener, HttpServer, Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import { Broadcast } from '../../src/runtime/stream/stream.ts';
import { ndjsonLine } from '../../src/core/json/ndjson.ts';
import { LOG_OFFSET_HEADER } from '../../src/wire/api/host-api.ts';
import type { AllocationUsage, HostUsage } from '../../src/wire/api/usage-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';

/** Without what comes before the union: each kind keeps its own fields. */
type Body = HostReport extends infer R
  ? R extends HostReport
    ? Omit<R, 'host' | 'incarnation' | 'seq'>
    : never
  : never;

/** The API of a host that runs nothing: tests say what it reports, and feed its logs byte by byte. */
export class ReportingHost {
  readonly id: string;
  incarnation: number;
  seq = 0;
  /** Streams that began by going on from where the reader stood. */
  resumed = 0;
  readonly reports = new Map<string, AllocationReport>();
  readonly stops: string[] = [];
  /** What its allocations use, and how often somebody wanted to know. */
  uses: readonly AllocationUsage[] = [];
  usageAsked = 0;
  /** Of each report stream that was opened. */
  readonly queries: RouteRequest['query'][] = [];
  #live = new Broadcast<string>(100_000);
  readonly #past: HostReport[] = [];
  readonly #logs = new Map<string, { bytes: Uint8Array; ended: boolean; readonly wake: Set<() => void> }>();
  #listener: HttpListener | null = null;

  constructor(id: string, incarnation = 1) {
    this.id = id;
    this.incarnation = incarnation;
  }

  get address(): string {
    return this.#listener?.address ?? '';
  }

  get readers(): number {
    return this.#live.readers;
  }

  async listen(server: HttpServer): Promise<this> {
    const routes: Route[] = [
      {
        method: 'GET',
        path: '/v1/reports',
        right: 'read',
        handle: async (request) => this.#reports(request),
      },
      {
        method: 'GET',
        path: '/v1/allocations/:id',
        right: 'read',
        handle: async ({ params }) => this.#get(params['id'] ?? ''),
      },
      {
        method: 'GET',
        path: '/v1/usage',
        right: 'read',
        handle: async () => ({ status: 200, body: this.#usage() }),
      },
      {
        method: 'GET',
        path: '/v1/allocations/:id/logs',
        right: 'read',
        handle: async (request) => this.#openLog(request),
      },
      {
        method: 'POST',
        path: '/v1/allocations/:id/stop',
        right: 'read',
        handle: async ({ params }) => this.#stop(params['id'] ?? ''),
      },
      {
        method: 'DELETE',
        path: '/v1/allocations/:id',
        right: 'read',
        handle: async ({ params }) => this.#remove(params['id'] ?? ''),
      },
    ];
    this.#listener = await server.listen(routes, { host: '127.0.0.1', port: 0, bodyBytesMax: 64 * 1024 });
    return this;
  }

  #usage(): HostUsage {
    this.usageAsked += 1;
    return { host: this.id, atMs: 0, allocations: this.uses };
  }

  async close(): Promise<void> {
    this.#live.close();
    await this.#listener?.close(0);
  }

  /** Ends all report streams in order, as an agent does that stops. */
  endStreams(): void {
    this.#live.close();
    this.#live = new Broadcast<string>(100_000);
  }

  change(report: AllocationReport): void {
    this.reports.set(report.id, report);
    this.#send({ kind: 'change', allocation: report });
  }

  gone(id: string): void {
    this.reports.delete(id);
    this.#send({ kind: 'gone', id });
  }

  /** @param atMs its clock; absent: it does not say */
  beat(atMs?: number): void {
    const clock = atMs === undefined ? {} : { atMs };
    this.#live.send(ndjsonLine({ ...this.#head(), kind: 'beat', ...clock }));
  }

  /** Appends to a task's output. */
  write(id: string, text: string): void {
    const log = this.#logOf(id);
    log.bytes = Buffer.concat([log.bytes, Buffer.from(text)]);
    for (const wake of log.wake) wake();
  }

  endLog(id: string): void {
    const log = this.#logOf(id);
    log.ended = true;
    for (const wake of log.wake) wake();
  }

  #head() {
    return { host: this.id, incarnation: this.incarnation, seq: this.seq };
  }

  #send(body: Body): void {
    this.seq += 1;
    const report = { ...this.#head(), ...body } as HostReport;
    this.#past.push(report);
    this.#live.send(ndjsonLine(report));
  }

  #reports({ query, signal }: RouteRequest): RouteReply {
    this.queries.push(query);
    const canResume = Number(query['incarnation']) === this.incarnation;
    const seq = Number(query['seq']);
    if (canResume) this.resumed += 1;
    const past = this.#past.filter((report) => report.incarnation === this.incarnation && report.seq > seq);
    const full = { ...this.#head(), kind: 'full', allocations: [...this.reports.values()] };
    const first = canResume ? [...past, { ...this.#head(), kind: 'beat' }] : [full];
    return { status: 200, stream: this.#live.subscribe(signal, first.map(ndjsonLine)) };
  }

  #get(id: string): RouteReply {
    const report = this.reports.get(id);
    if (report === undefined) throw absent(id);
    return { status: 200, body: report };
  }

  #stop(id: string): RouteReply {
    this.stops.push(id);
    return this.#get(id);
  }

  #remove(id: string): RouteReply {
    if (this.reports.has(id)) this.gone(id);
    return { status: 204 };
  }

  #logOf(id: string) {
    let log = this.#logs.get(id);
    if (log === undefined)
      this.#logs.set(id, (log = { bytes: new Uint8Array(), ended: false, wake: new Set() }));
    return log;
  }

  #openLog({ params, query, signal }: RouteRequest): RouteReply {
    const id = params['id'] ?? '';
    if (!this.reports.has(id)) throw absent(id);
    const offset = Number(query['offset'] ?? 0);
    const stream = this.#readLog(id, offset, query['follow'] === 'true', signal);
    return { status: 200, headers: { [LOG_OFFSET_HEADER]: String(offset) }, stream };
  }

  async *#readLog(
    id: string,
    offset: number,
    follow: boolean,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const log = this.#logOf(id);
    let at = offset;
    for (;;) {
      if (log.bytes.length > at) {
        const chunk = log.bytes.slice(at);
        at += chunk.length;
        yield chunk;
      }
      if (log.bytes.length > at) continue;
      if (log.ended || !follow) return;
      if (signal.aborted) throw new Error('the agent stops, or the reader is gone');
      await new Promise<void>((resolve) => {
        log.wake.add(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}

function absent(id: string): ProblemError {
  return new ProblemError({ status: 404, code: 'no-allocation', detail: `no allocation ${id} here` });
}

/** A report with everything that tests do not care for filled in. */
export function reportOf(host: string, id: string, more: Partial<AllocationReport> = {}): AllocationReport {
  return {
    ...{
      id,
      host,
      precedence: 50,
      resources: { ...NO_RESOURCES, cpuMilli: 100, memoryMib: 64 },
      gpus: [],
      ports: {},
    },
    ...{
      namespace: 'default',
      job: 'web',
      jobVersion: 1,
      group: 'web',
      index: 0,
      attempt: 1,
      scheduler: 's1',
    },
    ...{
      state: 'running',
      released: false,
      reason: '',
      restarts: 0,
      tasks: { web: { state: 'running', restarts: 0 } },
    },
    ...more,
  };
}
