import { onAbort } from '../../src/ports/on-abort.ts';
import type { Identity } from '../../src/core/access/identity.ts';
import type { HttpAnswer, HttpCall, HttpStream, RouteReply } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import type { Agenda } from '../agenda/agenda.ts';
import { Life } from '../agenda/life.ts';
import type { Answer, Letter } from './exchange.ts';
import { answerOf, receivedOf } from './exchange.ts';
import { Incoming } from './incoming.ts';
import type { NetworkFaultProfile } from './fault-profile.ts';
import { Outgoing } from './outgoing.ts';

/** One end of a connection: a life, with the clock by which it measures its deadlines. */
export interface Endpoint {
  readonly life: Life;
  /** What its certificate would say. */
  readonly identity: Identity;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a connection needs of the network that carries it. */
interface Carrier {
  readonly agenda: Agenda;
  readonly faults: NetworkFaultProfile;
  lifeAt(actor: string): Life | null;
  repeat(from: string, address: string, letter: Letter): void;
}

export interface ConnectionParts {
  readonly network: Carrier;
  readonly caller: Endpoint;
  /** The actor that is called. */
  readonly peer: string;
  readonly call: HttpCall;
  readonly ended: () => void;
}

type Handler = (signal: () => AbortSignal) => Promise<RouteReply>;

interface Settle {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: HttpError) => void;
}

function open(): { readonly promise: Promise<Answer>; readonly settle: Settle } {
  let settle: Settle = { resolve: () => undefined, reject: () => undefined };
  const promise = new Promise<Answer>((resolve, reject) => (settle = { resolve, reject }));
  return { promise, settle };
}

/** The life of letters to an actor that does not listen (yet). */
const WIRE = new Life('network');

/** One call, or one stream: from the caller's first letter to the end of the answer, or to the first trouble. */
export class Connection {
  readonly #parts: ConnectionParts;
  readonly #settled: Settle;
  readonly #answered: Promise<Answer>;
  readonly #stopTimer: () => void;
  readonly #forgetSignal: () => void;
  #incoming: Incoming | null = null;
  #stopIdle: () => void = () => undefined;
  #heardMs = 0;
  #callerDone = false;
  /** The life to which the letter goes, or that handles it. */
  #target: Life | null = null;
  #server: Outgoing | null = null;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    const { call, caller } = parts;
    const { promise, settle } = open();
    this.#answered = promise;
    this.#settled = settle;
    this.#stopTimer = caller.clock.after(call.timeoutMs, () => this.leave('no answer in time'));
    const leave = (): void => this.leave('the caller gave up');
    this.#forgetSignal = call.signal === undefined ? () => undefined : onAbort(call.signal, leave);
  }

  async answer(): Promise<HttpAnswer> {
    return receivedOf(await this.#answered);
  }

  async stream(idleTimeoutMs: number): Promise<HttpStream> {
    const incoming = new Incoming(() => this.leave('the reader left'));
    this.#incoming = incoming;
    const { status, headers, body } = await this.#answered;
    if (body !== '') incoming.arrive(new TextEncoder().encode(body));
    this.#heardMs = this.#parts.network.agenda.nowMs;
    this.#watchSilence(idleTimeoutMs);
    return { status, headers, chunks: incoming };
  }

  send(letter: Letter, receive: (letter: Letter) => void): void {
    const { network, caller, peer, call } = this.#parts;
    const passage = network.faults.passage(caller.life.actor, peer);
    if (passage === 'lost') return;
    this.#target = network.lifeAt(peer);
    const note = `${caller.life.actor} ${letter.method} ${letter.target} ${letter.body}`;
    const arrive = (): void => {
      const life = network.lifeAt(peer);
      if (life === null || life === this.#target) return receive(letter);
      this.#target = life;
      network.agenda.after(0, life, 'request', () => receive(letter), note);
    };
    network.agenda.after(passage, this.#target ?? WIRE, 'request', arrive, note);
    if (call.method !== 'GET' && network.faults.doubles())
      network.repeat(caller.life.actor, `http://${peer}`, letter);
  }

  /** The peer does not listen: the caller learns for certain that nothing was done. */
  refuse(): void {
    this.#toCaller('refused', () => this.#fail('ECONNREFUSED', false));
  }

  accept(server: Endpoint, handler: Handler): void {
    if (this.#server !== null) return;
    this.#target = server.life;
    const outgoing = new Outgoing(
      server.life,
      (last) => this.#flush(last),
      () => this.#toCaller('reset', () => this.#fail('ECONNRESET', true)),
    );
    this.#server = outgoing;
    void handler(() => outgoing.signal).then((reply) => {
      if (reply.stream === undefined) {
        const answer = answerOf(reply);
        this.#toCaller(
          'answer',
          () => this.#receive(answer, true),
          `${String(answer.status)} ${answer.body}`,
        );
      } else {
        const head = answerOf(reply);
        this.#toCaller('stream', () => this.#receive(head, false));
        void outgoing.pump(reply.stream);
      }
    });
  }

  /** The caller abandons the call: by its deadline, its signal, or because it closes. */
  leave(why: string): void {
    if (this.#callerDone) return;
    this.#fail(why, true);
    this.#hangUp();
  }

  /** The life of the caller or of the server ended. */
  ended(life: Life): void {
    if (life === this.#parts.caller.life) {
      this.#finishCaller();
      this.#hangUp();
    } else if (life === this.#target) this.#toCaller('reset', () => this.#fail('ECONNRESET', true));
  }

  /** The server closed in order: streams are cut, as after its grace period. */
  closedBy(life: Life): void {
    if (life !== this.#target || this.#server === null) return;
    this.#server.abort();
    this.#toCaller('reset', () => this.#fail('ECONNRESET', true));
  }

  joins(one: string, other: string): boolean {
    const { caller, peer } = this.#parts;
    const from = caller.life.actor;
    return (from === one && peer === other) || (from === other && peer === one);
  }

  /** Both ends learn that it is gone. */
  break(): void {
    this.#toCaller('reset', () => this.#fail('ECONNRESET', true));
    this.#hangUp();
  }

  #flush(last: boolean): void {
    const { caller, network } = this.#parts;
    const server = this.#server;
    if (server === null) return;
    // A sender learns that its peer is dead, unless the network is cut.
    if (caller.life.ended || this.#callerDone) {
      if (!network.faults.isCut(server.life.actor, caller.life.actor)) server.abort();
      return;
    }
    this.#toCaller('chunk', () => {
      for (const chunk of server.take()) this.#incoming?.arrive(chunk);
      this.#heardMs = network.agenda.nowMs;
      if (last) this.#end();
    });
  }

  /** In the caller's life, after what was sent before, unless it is lost: then nothing of this connection arrives any more. */
  #toCaller(kind: string, receive: () => void, note = ''): void {
    const { network, caller, peer } = this.#parts;
    if (this.#callerDone || caller.life.ended || this.#backLost) return;
    const passage = network.faults.passage(peer, caller.life.actor);
    if (passage === 'lost') {
      this.#backLost = true;
      return;
    }
    this.#arrivesMs = Math.max(this.#arrivesMs, network.agenda.nowMs + passage);
    const delayMs = this.#arrivesMs - network.agenda.nowMs;
    const full = note === '' ? peer : `${peer} ${note}`;
    network.agenda.after(delayMs, caller.life, kind, () => this.#callerDone || receive(), full);
  }

  #backLost = false;
  #arrivesMs = 0;

  #receive(answer: Answer, whole: boolean): void {
    this.#stopTimer();
    this.#heardMs = this.#parts.network.agenda.nowMs;
    this.#settled.resolve(answer);
    if (whole) this.#end();
  }

  #end(): void {
    this.#incoming?.end();
    this.#finishCaller();
    this.#finish();
  }

  #fail(why: string, sent: boolean): void {
    if (this.#callerDone) return;
    const error = new HttpError(`${this.#parts.call.url}: ${why}`, { sent });
    this.#finishCaller();
    this.#settled.reject(error);
    this.#incoming?.fail(error);
    this.#finish();
  }

  #finishCaller(): void {
    this.#callerDone = true;
    this.#stopTimer();
    this.#stopIdle();
    this.#forgetSignal();
  }

  #hangUp(): void {
    const { network, caller, peer } = this.#parts;
    const server = this.#server;
    if (server === null || server.done || server.life.ended) return this.#finish();
    const passage = network.faults.passage(caller.life.actor, peer);
    if (passage !== 'lost') network.agenda.after(passage, server.life, 'hang up', () => server.abort());
    this.#finish();
  }

  #finish(): void {
    this.#parts.ended();
  }

  #watchSilence(idleTimeoutMs: number): void {
    const { caller, network } = this.#parts;
    const check = (): void => {
      const silentMs = network.agenda.nowMs - this.#heardMs;
      if (silentMs >= idleTimeoutMs) this.leave('silent for too long');
      // The rest may be too short to move the clock; then this would be entered again for ever.
      else this.#stopIdle = caller.clock.after(Math.max(1, idleTimeoutMs - silentMs), check);
    };
    if (!this.#callerDone) this.#stopIdle = caller.clock.after(idleTimeoutMs, check);
  }
}
