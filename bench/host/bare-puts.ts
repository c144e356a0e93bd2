import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { HttpClient } from '../../src/ports/http.ts';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { startOf } from './host-orders.ts';

/** The reference for starts: the same orders, by the same client, to a bare fastify that starts nothing (`bare-server.ts`). */
export class BareServer {
  readonly #child = spawn(process.execPath, [builtFile('bench/host/bare-server.js')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  #address = '';

  /** @throws when it does not come up */
  async start(): Promise<void> {
    const line = once(createInterface({ input: this.#child.stdout }), 'line') as Promise<[string]>;
    const ended = once(this.#child, 'exit').then(() => null);
    const first = await Promise.race([line, ended]);
    if (first === null) throw new Error('the bare server ended');
    [this.#address] = first;
  }

  /** @throws HttpError; Error when it answers otherwise */
  async put(http: HttpClient, id: string): Promise<void> {
    const call = { method: 'PUT', url: `${this.#address}/v1/allocations/${id}`, timeoutMs: 10_000 } as const;
    const { status } = await http.call({ ...call, body: startOf(id, ['true']) });
    if (status !== 200) throw new Error(`the bare server answered ${String(status)}`);
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin.end();
    await ended;
  }
}
