/**
 * HTTP between actors, without sockets. A call becomes a letter; it takes a delay, or is lost, by the fault profile; the peer's routes
 * handle it in the peer's life; the answer travels back the same way. An actor that dies resets its connections.
 *
 * - `exchange.ts`: letters and answers, and how a route handles one
 * - `connection.ts`: one call or stream, from the first letter to the end of the answer
 * - `outgoing.ts`: what the server sends on a stream; `incoming.ts`: what the caller has received of it
 * - `fault-profile.ts`: delays, losses, repeated requests and cuts
 */
import type {
  HttpAnswer,
  HttpCall,
  HttpClient,
  HttpListener,
  HttpServer,
  HttpStream,
  ListenOptions,
  Route,
} from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import { assertRights } from '../../src/core/access/access.ts';
import type { Agenda } from '../agenda/agenda.ts';
import type { Life } from '../agenda/life.ts';
import type { Endpoint } from './connection.ts';
import { Connection } from './connection.ts';
import type { Letter } from './exchange.ts';
import { handle, letterOf, partsOf } from './exchange.ts';
import type { NetworkFaultProfile } from './fault-profile.ts';

interface Listening {
  readonly speaker: Endpoint;
  readonly routes: readonly Route[];
  readonly options: ListenOptions;
}

/** A second delivery comes this much later than messages usually take. */
const REPEAT_SPREAD = 50;

/** The signal of a repeated letter, whose answer has no receiver. */
const NEVER_ABORTED = new AbortController().signal;

type StreamCall = Parameters<HttpClient['stream']>[0];

/**
 * HTTP between actors on virtual time. Every message is an entry under the life that receives it: a message to a dead actor is
 * dropped, one from a dead actor arrives. An actor has one address for all its lives.
 */
export class SimNetwork {
  readonly agenda: Agenda;
  readonly faults: NetworkFaultProfile;
  readonly #listening = new Map<string, Listening>();
  readonly #connections = new Set<Connection>();

  constructor(agenda: Agenda, faults: NetworkFaultProfile) {
    this.agenda = agenda;
    this.faults = faults;
  }

  /** Open exchanges and streams. */
  get open(): number {
    return this.#connections.size;
  }

  server(speaker: Endpoint): HttpServer {
    return { listen: (routes, options) => Promise.resolve(this.#listen(speaker, routes, options)) };
  }

  client(speaker: Endpoint): HttpClient {
    const open = new Set<Connection>();
    return {
      call: (call) => this.#call(speaker, call, open),
      stream: (call) => this.#stream(speaker, call, open),
      close: () => {
        for (const connection of [...open]) connection.leave('the client was closed');
        return Promise.resolve();
      },
    };
  }

  /** The life has ended: its sockets are reset, so that peers that can be reached learn it soon. */
  reset(life: Life): void {
    for (const connection of [...this.#connections]) connection.ended(life);
    for (const [address, { speaker }] of this.#listening)
      if (speaker.life === life) this.#listening.delete(address);
  }

  /** Breaks all connections between the two, as a middlebox does that lost its state. */
  breakBetween(one: string, other: string): void {
    for (const connection of [...this.#connections]) if (connection.joins(one, other)) connection.break();
  }

  static addressOf(actor: string): string {
    return `http://${actor}`;
  }

  #listen(speaker: Endpoint, routes: readonly Route[], options: ListenOptions): HttpListener {
    assertRights(routes);
    const address = SimNetwork.addressOf(speaker.life.actor);
    const listening = { speaker, routes, options };
    this.#listening.set(address, listening);
    const close = (): Promise<void> => {
      if (this.#listening.get(address) === listening) this.#listening.delete(address);
      for (const connection of [...this.#connections]) connection.closedBy(speaker.life);
      return Promise.resolve();
    };
    return { address, close };
  }

  #connect(speaker: Endpoint, call: HttpCall, open: Set<Connection>): Connection {
    const { address, target } = partsOf(call.url);
    const connection: Connection = new Connection({
      network: this,
      caller: speaker,
      peer: address.slice('http://'.length),
      call,
      ended: () => {
        this.#connections.delete(connection);
        open.delete(connection);
      },
    });
    this.#connections.add(connection);
    open.add(connection);
    connection.send(letterOf(call, target, speaker.identity), (letter) =>
      this.#receive(connection, address, letter),
    );
    return connection;
  }

  /** In the peer's life, or in that of the network when the peer does not listen. */
  #receive(connection: Connection, address: string, letter: Letter): void {
    const listening = this.#listening.get(address);
    if (listening === undefined) return connection.refuse();
    const { speaker, routes, options } = listening;
    connection.accept(speaker, (signal) => handle(routes, options, letter, signal, speaker.log));
  }

  async #call(speaker: Endpoint, call: HttpCall, open: Set<Connection>): Promise<HttpAnswer> {
    if (call.signal?.aborted === true) throw new HttpError('the caller gave up', { sent: false });
    return this.#connect(speaker, call, open).answer();
  }

  async #stream(speaker: Endpoint, call: StreamCall, open: Set<Connection>): Promise<HttpStream> {
    if (call.signal?.aborted === true) throw new HttpError('the caller gave up', { sent: false });
    return this.#connect(speaker, call, open).stream(call.idleTimeoutMs);
  }

  /** The same letter arrives once more, later; its answer has no receiver. */
  repeat(from: string, address: string, letter: Letter): void {
    const peer = address.slice('http://'.length);
    const life = this.lifeAt(peer);
    if (life === null) return;
    const again = (): void => {
      const listening = this.#listening.get(address);
      if (listening === undefined || listening.speaker.life !== life) return;
      const { routes, options, speaker } = listening;
      void handle(routes, options, letter, () => NEVER_ABORTED, speaker.log);
    };
    const delayMs = this.faults.delayMs() * REPEAT_SPREAD;
    this.agenda.after(delayMs, life, 'request again', again, `${from} ${letter.method} ${letter.target}`);
  }

  /** The life that would receive a letter now; null: the actor does not listen. */
  lifeAt(actor: string): Life | null {
    return this.#listening.get(SimNetwork.addressOf(actor))?.speaker.life ?? null;
  }
}
