import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Allocation } from '../../src/core/cell/allocation.ts';

/**
 * All hosts in one HTTP server, by the first part of the path: they report what runs, and start and stop what is ordered. Each
 * has an address of its own, since a client keeps only some connections to one.
 */
export class Hosts {
  readonly #running = new Map<string, Map<string, Allocation>>();
  #addresses = 0;
  readonly #server = createServer((request, response) => {
    const { method, url = '' } = request;
    const [, host = '', , , id] = url.split('/');
    if (method === 'PUT') void this.#start(host, request, response);
    else if (url.includes('/v1/reports')) this.#report(host, response);
    else if (method === 'GET' && id === undefined) answer(response, this.#listing(host));
    else if (method === 'GET') this.#find(host, id ?? '', response);
    else this.#stop(host, id ?? '', response);
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '0.0.0.0', resolve));
  }

  addressOf(id: string): string {
    const n = ++this.#addresses;
    const address = `127.1.${String(n >> 8)}.${String(n & 255)}`;
    return `http://${address}:${String((this.#server.address() as AddressInfo).port)}/${id}`;
  }

  run(id: string, allocations: readonly Allocation[]): void {
    this.#running.set(id, new Map(allocations.map((allocation) => [allocation.id, allocation])));
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #listing(host: string) {
    const running = [...(this.#running.get(host)?.values() ?? [])];
    return {
      ...{ host, incarnation: 1, seq: 1 },
      allocations: running.map((allocation) => ({ ...allocation, ...RUNNING })),
    };
  }

  /** The full report; later changes come only from starts, which the scheduler ordered itself. */
  #report(host: string, response: ServerResponse): void {
    response.setHeader('content-type', 'application/x-ndjson');
    response.write(`${JSON.stringify({ ...this.#listing(host), kind: 'full' })}\n`);
  }

  #find(host: string, id: string, response: ServerResponse): void {
    const allocation = this.#running.get(host)?.get(id);
    if (allocation === undefined) answer(response, { status: 404, code: 'no-allocation', detail: id }, 404);
    else answer(response, { ...allocation, ...RUNNING });
  }

  #stop(host: string, id: string, response: ServerResponse): void {
    const allocation = this.#running.get(host)?.get(id);
    this.#running.get(host)?.delete(id);
    answer(response, { ...allocation, ...RUNNING, state: 'killed', released: true });
  }

  async #start(host: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { allocation } = (await json(request)) as { allocation: Allocation };
    const running = this.#running.get(host) ?? new Map<string, Allocation>();
    this.#running.set(host, running.set(allocation.id, allocation));
    answer(response, { report: { ...allocation, ...RUNNING } });
  }
}

const RUNNING = { state: 'running', released: false, reason: '', restarts: 0, tasks: {} };

function answer(response: ServerResponse, body: unknown, status = 200): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}
