import type { HttpAnswer, HttpCall, HttpClient } from '../../ports/http.ts';
import { HttpError } from '../../ports/http.ts';
import { onAbort } from '../../ports/on-abort.ts';
import { NdjsonParser } from '../../core/json/ndjson.ts';
import type { BatchedAnswer, BatchedCall } from './batch.ts';
import { BATCH_CALLS_MAX, BATCH_PATH } from './batch.ts';
import { httpErrorOf } from './call-faults.ts';
import { callTimer } from './call-timer.ts';
import type { Send } from './client-core.ts';
import { answerIn, faultOf } from './client-core.ts';

/**
 * While an answer of the server is awaited, calls to it are gathered for so long. This is Nagle's rule (RFC 896): a call to
 * an idle server never waits, and a busy one gets fewer and larger requests.
 */
const GATHER_MS = 2;
/** Of the text of a batch; servers take no more than 128 KiB. */
const BATCH_LENGTH_MAX = 64 * 1024;
/** A server without batches, as one of an older version is, is asked again after so long. */
const WITHOUT_BATCHES_MS = 600_000;
/** Answers by which a server says that it has read no batch: each call goes by itself. */
const NOT_TAKEN: ReadonlySet<number> = new Set([400, 404, 405, 413]);

interface WaitingCall {
  readonly call: HttpCall;
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls to one server that may go together: they share a deadline, and are answered by the same role. */
interface Lane extends Pick<HttpCall, 'to' | 'timeoutMs'> {
  readonly origin: string;
  waiting: WaitingCall[];
  /** Requests without an answer. */
  open: number;
  gathering: boolean;
}

/**
 * Sends calls that are `batched` together where several are made to one server at about the same time; the server answers each as
 * soon as it ends. Each keeps its own outcome, deadline and signal; a batch that is cut leaves those unknown that it has not answered.
 *
 * @param single makes one call by itself
 * @param send sends the request of a batch
 */
export function callBatches(single: HttpClient['call'], send: Send): HttpClient['call'] {
  const lanes = new Map<string, Lane>();
  /** Until when, by the monotonic clock, in the order in which they end. */
  const withoutBatches = new Map<string, number>();

  function takesBatches(origin: string): boolean {
    const untilMs = withoutBatches.get(origin);
    if (untilMs === undefined) return true;
    if (untilMs > performance.now()) return false;
    return withoutBatches.delete(origin);
  }

  function flush(key: string, lane: Lane): void {
    lane.gathering = false;
    lane.waiting = lane.waiting.filter((one) => !isAbandoned(one));
    while (lane.waiting.length > 0) {
      const { some, text } = cutBatch(lane.waiting);
      lane.waiting = lane.waiting.slice(some.length);
      const [first, second] = some;
      if (first === undefined) return;
      lane.open += 1;
      const sent = second === undefined ? alone(first) : together(lane, some, text);
      void sent.finally(() => {
        lane.open -= 1;
        if (lane.open === 0 && lane.waiting.length === 0) lanes.delete(key);
      });
    }
  }

  function alone({ call, resolve, reject }: WaitingCall): Promise<void> {
    return single(call).then(resolve, reject);
  }

  async function apart(origin: string, some: readonly WaitingCall[]): Promise<void> {
    const nowMs = performance.now();
    for (const [other, untilMs] of withoutBatches)
      if (untilMs > nowMs) break;
      else withoutBatches.delete(other);
    withoutBatches.delete(origin);
    withoutBatches.set(origin, nowMs + WITHOUT_BATCHES_MS);
    await Promise.all(some.map(alone));
  }

  async function together(lane: Lane, some: readonly WaitingCall[], text: string): Promise<void> {
    if (!(await isTaken(lane, some, text))) await apart(lane.origin, some);
  }

  /** @returns false: the server has surely done nothing of it. Never rejects: its calls do */
  async function isTaken(lane: Lane, some: readonly WaitingCall[], text: string): Promise<boolean> {
    const { origin, to, timeoutMs } = lane;
    const url = `${origin}${BATCH_PATH}`;
    const batch = new OpenBatch(some);
    const timer = callTimer(timeoutMs, undefined);
    let began = false;
    try {
      const headers = { 'content-type': 'application/json' };
      const incoming = await send(url, { method: 'POST', headers, body: text, signal: timer.signal, to });
      began = true;
      if (incoming.status === 200) await batch.read(incoming.chunks);
      else {
        const answer = await answerIn(incoming);
        if (NOT_TAKEN.has(answer.status)) return batch.leave();
        batch.answerAll(answer);
      }
    } catch (error) {
      batch.fail(httpErrorOf(faultOf(error, timer), url, began));
    } finally {
      timer.stop();
    }
    batch.fail(new HttpError(`${origin}: the answer ended before this call's`, { sent: true }));
    return true;
  }

  return (call) => {
    if (call.batched !== true) return single(call);
    const { origin } = new URL(call.url);
    if (!takesBatches(origin)) return single(call);
    return new Promise<HttpAnswer>((resolve, reject) => {
      const { to, timeoutMs } = call;
      const key = `${origin} ${to ?? ''} ${String(timeoutMs)}`;
      const lane = lanes.get(key) ?? {
        ...{ origin, timeoutMs, ...(to === undefined ? {} : { to }) },
        ...{ waiting: [], open: 0, gathering: false },
      };
      lanes.set(key, lane);
      lane.waiting.push({ call, resolve, reject });
      if (lane.gathering) return;
      lane.gathering = true;
      if (lane.open === 0) setImmediate(() => flush(key, lane));
      else setTimeout(() => flush(key, lane), GATHER_MS);
    });
  };
}

/** Its caller has given it up before it was sent, and is told. */
function isAbandoned({ call: { signal }, reject }: WaitingCall): boolean {
  if (signal?.aborted !== true) return false;
  reject(new HttpError('the caller gave up', { sent: false }));
  return true;
}

/** The first of them that fit into one batch, and its text. */
function cutBatch(waiting: readonly WaitingCall[]): {
  readonly some: readonly WaitingCall[];
  readonly text: string;
} {
  const texts: string[] = [];
  let length = 0;
  for (const { call } of waiting) {
    const text = JSON.stringify(batchedCall(call));
    length += text.length;
    if (texts.length > 0 && (length > BATCH_LENGTH_MAX || texts.length === BATCH_CALLS_MAX)) break;
    texts.push(text);
  }
  return { some: waiting.slice(0, texts.length), text: `{"calls":[${texts.join(',')}]}` };
}

function batchedCall({ method, url, headers, body }: HttpCall): BatchedCall {
  const { pathname, search } = new URL(url);
  return {
    method,
    path: `${pathname}${search}`,
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
  };
}

/** The calls of a batch that are not yet answered. */
class OpenBatch {
  readonly #open = new Map<number, WaitingCall>();
  readonly #forget = new Map<number, () => void>();

  constructor(calls: readonly WaitingCall[]) {
    calls.forEach((one, position) => {
      this.#open.set(position, one);
      const { signal } = one.call;
      if (signal === undefined) return;
      const gaveUp = (): HttpError => new HttpError('the caller gave up', { sent: true });
      this.#forget.set(
        position,
        onAbort(signal, () => this.#take(position)?.reject(gaveUp())),
      );
    });
  }

  /** Resolves with the last answer, or with the end of the chunks. @throws what they throw, NdjsonError */
  async read(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const parser = new NdjsonParser();
    for await (const chunk of chunks)
      for (const line of parser.push(chunk)) {
        const { call, status, body } = line as BatchedAnswer;
        this.#take(call)?.resolve({ status, headers: {}, body });
      }
  }

  /** The server has refused the batch: that is the answer to each of its calls. */
  answerAll(answer: HttpAnswer): void {
    for (const position of [...this.#open.keys()]) this.#take(position)?.resolve(answer);
  }

  fail(error: HttpError): void {
    for (const position of [...this.#open.keys()]) this.#take(position)?.reject(error);
  }

  /** They are sent in another way. */
  leave(): false {
    for (const position of [...this.#open.keys()]) this.#take(position);
    return false;
  }

  #take(position: number): WaitingCall | undefined {
    const one = this.#open.get(position);
    this.#open.delete(position);
    this.#forget.get(position)?.();
    this.#forget.delete(position);
    return one;
  }
}
