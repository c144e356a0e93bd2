import type { GrantRefusal, TicketGrant, TicketRequest } from '../../../src/wire/api/arbiter-api.ts';
import { roleCodec } from '../../../src/wire/records/records.ts';
import type { CellWorld } from './cell-world.ts';
import { keys } from './cell-world.ts';

/** Grants whatever it is asked for, with tickets that last as long as the test says, or refuses with a reason. */
export class FakeArbiter {
  readonly requests: TicketRequest[] = [];
  refusal: GrantRefusal | null = null;
  ttlMs = 30_000;
  /** Namespaces that have a quota. */
  limited: readonly string[] = [];
  readonly #world: CellWorld;
  #granted = 0;

  constructor(world: CellWorld) {
    this.#world = world;
  }

  async join(): Promise<this> {
    const route = {
      method: 'POST',
      path: '/v1/tickets',
      right: 'read',
      handle: async ({ body }: { readonly body: unknown }) => this.#answer(body as TicketRequest),
    } as const;
    const listen = { host: '127.0.0.1', port: 0, bodyBytesMax: 1024 * 1024 };
    const { address } = await this.#world.network.server().listen([route], listen);
    const role = {
      kind: 'arbiter',
      id: 'arbiter-1',
      address,
      version: '0',
      policy: '',
      startedAtMs: 0,
    } as const;
    await this.#world.put(keys.role('arbiter', 'arbiter-1'), roleCodec.encode(role));
    return this;
  }

  #answer(request: TicketRequest) {
    this.requests.push(request);
    const expiresMs = this.#world.clock.nowMs() + this.ttlMs;
    const answers = request.placements.map(({ claim: { id } }): TicketGrant => {
      if (this.refusal !== null) return { id, refusal: this.refusal };
      this.#granted += 1;
      return { id, ticket: `ticket-${String(this.#granted)}`, expiresMs };
    });
    const asked = new Set(request.placements.map(({ namespace }) => namespace));
    const limited = this.limited.filter((namespace) => asked.has(namespace));
    return { status: 200, body: { answers, limited } };
  }
}
