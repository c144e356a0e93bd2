import { ndjsonLine } from '../../../src/core/json/ndjson.ts';
import type { HostReport, AllocationReport } from '../../../src/core/host/report.ts';
import type { ObservedState } from '../../../src/core/host/states.ts';
import { isTerminal } from '../../../src/core/host/states.ts';
import type { HttpListener, HttpServer, Route, RouteReply, RouteRequest } from '../../../src/ports/http.ts';
import { Broadcast } from '../../../src/runtime/stream/stream.ts';
import type { StartRefusal, StartRequest, StopRequest } from '../../../src/wire/api/host-api.ts';

/** What the host does with a start: keeps it running, ends it at once, or refuses it. */
export type StartBehaviour = 'run' | 'complete' | 'fail' | { readonly refuse: StartRefusal };

/** A host-agent that runs nothing and keeps the protocol: idempotent starts, released as a fact, tombstones. */
export class FakeHost {
  readonly id: string;
  behaviour: (request: StartRequest) => StartBehaviour = () => 'run';
  /** The next start is refused with this, without being final. */
  refuseOnce: StartRefusal | null = null;
  /** Every start that was obeyed, by allocation id; at most one for each (I13). */
  readonly starts: StartRequest[] = [];
  /** Every PUT that arrived. */
  readonly orders: StartRequest[] = [];
  readonly stops: { readonly id: string; readonly request: StopRequest }[] = [];
  readonly removed: string[] = [];
  /** Stopped allocations are released at once; a test may hold them back. */
  holdStops = false;
  readonly reports = new Map<string, AllocationReport>();
  readonly #dead = new Set<string>();
  readonly #live = new Broadcast<string>(100_000);
  #seq = 0;
  #listener: HttpListener | null = null;

  constructor(id: string) {
    this.id = id;
  }

  get address(): string {
    return this.#listener?.address ?? '';
  }

  get running(): AllocationReport[] {
    return [...this.reports.values()].filter((report) => report.state === 'running');
  }

  async listen(server: HttpServer): Promise<this> {
    const on = (
      method: Route['method'],
      path: string,
      handle: (request: RouteRequest) => RouteReply,
    ): Route => ({
      method,
      path,
      right: 'read',
      handle: async (request) => handle(request),
    });
    this.#listener = await server.listen(
      [
        on('PUT', '/v1/allocations/:id', ({ body }) => this.#start(body as StartRequest)),
        on('GET', '/v1/allocations', () => ({
          status: 200,
          body: { host: this.id, incarnation: 1, seq: this.#seq, allocations: [...this.reports.values()] },
        })),
        on('GET', '/v1/allocations/:id', ({ params }) => this.#get(params['id'] ?? '')),
        on('POST', '/v1/allocations/:id/stop', ({ params, body }) =>
          this.#stop(params['id'] ?? '', body as StopRequest),
        ),
        on('DELETE', '/v1/allocations/:id', ({ params }) => this.#remove(params['id'] ?? '')),
        on('GET', '/v1/reports', ({ signal }) => this.#stream(signal)),
      ],
      { host: '127.0.0.1', port: 0, bodyBytesMax: 1024 * 1024 },
    );
    return this;
  }

  async close(): Promise<void> {
    this.#live.close();
    await this.#listener?.close(0);
  }

  /** The task ends; unless held back, nothing of it is left at once. */
  end(id: string, state: ObservedState, released = true): void {
    const report = this.reports.get(id);
    if (report === undefined) throw new Error(`${this.id} has no ${id}`);
    this.#set({ ...report, state, released, reason: state, exit: { code: state === 'complete' ? 0 : 1 } });
  }

  /** Its report changes in some parts. */
  change(id: string, part: Partial<AllocationReport>): void {
    const report = this.reports.get(id);
    if (report === undefined) throw new Error(`${this.id} has no ${id}`);
    this.#set({ ...report, ...part });
  }

  endAll(state: ObservedState): void {
    for (const report of this.running) this.end(report.id, state);
  }

  #start(request: StartRequest): RouteReply {
    const { allocation } = request;
    this.orders.push(request);
    const known = this.reports.get(allocation.id);
    if (known !== undefined) return { status: 200, body: { report: known } };
    if (this.#dead.has(allocation.id)) return problem(409, 'stopped');
    const once = this.refuseOnce;
    this.refuseOnce = null;
    if (once !== null) return problem(403, once);
    const behaviour = this.behaviour(request);
    if (typeof behaviour === 'object') {
      this.#dead.add(allocation.id);
      return problem(409, behaviour.refuse);
    }
    this.starts.push(request);
    const { id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group } = allocation;
    const { index, attempt, scheduler } = allocation;
    const claim = { id, host, precedence, resources, gpus, ports };
    const slot = { namespace, job, jobVersion, group, index, attempt, scheduler };
    const report: AllocationReport = {
      ...{ ...claim, ...slot, state: 'running', released: false, reason: 'running' },
      ...{ restarts: 0, startedAtMs: 1, tasks: {} },
    };
    this.#set(report);
    if (behaviour !== 'run') this.end(id, behaviour === 'complete' ? 'complete' : 'failed');
    return { status: 200, body: { report } };
  }

  #get(id: string): RouteReply {
    const report = this.reports.get(id);
    return report === undefined ? problem(404, 'no-allocation') : { status: 200, body: report };
  }

  #stop(id: string, request: StopRequest): RouteReply {
    this.stops.push({ id, request });
    const report = this.reports.get(id);
    if (report === undefined) {
      this.#dead.add(id);
      return problem(404, 'no-allocation');
    }
    if (!isTerminal(report.state) && !this.holdStops) this.end(id, 'killed');
    return { status: 200, body: this.reports.get(id) };
  }

  #remove(id: string): RouteReply {
    if (this.reports.get(id)?.released === false) return problem(409, 'not-released');
    this.#dead.add(id);
    if (this.reports.delete(id)) this.#send({ kind: 'gone', id });
    this.removed.push(id);
    return { status: 204 };
  }

  #stream(signal: AbortSignal): RouteReply {
    const allocations = [...this.reports.values()];
    const full: HostReport = { host: this.id, incarnation: 1, seq: this.#seq, kind: 'full', allocations };
    return {
      status: 200,
      contentType: 'application/x-ndjson',
      stream: this.#live.subscribe(signal, [ndjsonLine(full)]),
    };
  }

  #set(report: AllocationReport): void {
    this.reports.set(report.id, report);
    this.#send({ kind: 'change', allocation: report });
  }

  #send(body: { kind: 'change'; allocation: AllocationReport } | { kind: 'gone'; id: string }): void {
    this.#seq += 1;
    this.#live.send(ndjsonLine({ host: this.id, incarnation: 1, seq: this.#seq, ...body }));
  }
}

function problem(status: number, code: string): RouteReply {
  return { status, body: { status, code, detail: code } };
}
