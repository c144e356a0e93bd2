import type { HttpClient } from '../../ports/http.ts';
import type { Log } from '../../ports/telemetry.ts';
import type { ReportFrame } from '../../wire/api/report-frames.ts';
import { readReportFrame } from '../../wire/api/report-frames.ts';
import { NdjsonParser } from '../../core/json/ndjson.ts';

const CONNECT_TIMEOUT_MS = 3_000;
/**
 * Streams being opened at once: at start a monitor has thousands to open, and each answers with a `full`. One more for each that
 * was opened and one less for each that was not: where both ends share a few processors, more at once than these can greet within
 * the time limit would all fail, again and again. And no more at any time than leave others a turn: a handshake takes a monitor up
 * to 2 ms, and those that are ready at the same time are done in one turn of its event loop, in which it answers nobody.
 */
const CONNECTS = { first: 48, min: 16, max: 48 };

/** A server of `/v1/reports`: a host (by its id), or a monitor. */
export interface ReportSource {
  readonly name: string;
  /** Base URL without a slash at the end. */
  readonly url: string;
}

export interface ReportReaderOptions {
  readonly silenceMs: number;
  /** What its sources are, and must show that they are (S4.13). */
  readonly to: 'agent' | 'monitor';
}

export interface ReadOptions {
  /** The stream is ended after so long without a message. Default: the reader's. */
  readonly silenceMs?: number;
  /** The source did not answer lately: others go first, which do not wait for a rack that is gone or returns. */
  readonly isMissed?: boolean;
}

/** A source broke the protocol of the stream: it is cut, and followed anew from a `full`. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

/** Opens report streams, a bounded number at once, and reads them frame by frame. */
export class ReportReader {
  readonly #http: HttpClient;
  readonly #log: Log;
  readonly #options: ReportReaderOptions;
  #connects = 0;
  #connectsMax = CONNECTS.first;
  readonly #waiting: readonly [fresh: (() => void)[], missed: (() => void)[]] = [[], []];
  #isClosed = false;

  constructor(http: HttpClient, log: Log, options: ReportReaderOptions) {
    this.#http = http;
    this.#log = log;
    this.#options = options;
  }

  /** Opens nothing any more; open streams end with their reader's signal. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#waiting) for (const resolve of waiting.splice(0)) resolve();
  }

  /** Reads one stream until it ends. `onFrame` may throw a SourceError, which ends it. Never rejects. */
  async read(
    source: ReportSource,
    query: string,
    signal: AbortSignal,
    onFrame: (frame: ReportFrame) => void,
    { silenceMs = this.#options.silenceMs, isMissed = false }: ReadOptions = {},
  ): Promise<void> {
    let connecting = true;
    const connected = (isOpen: boolean): void => {
      if (connecting) this.#leaveConnect(isOpen || signal.aborted ? 1 : -1);
      connecting = false;
    };
    await this.#enterConnect(isMissed);
    try {
      if (signal.aborted || this.#isClosed) return;
      const stream = await this.#http.stream({
        method: 'GET',
        url: `${source.url}/v1/reports${query}`,
        timeoutMs: CONNECT_TIMEOUT_MS,
        idleTimeoutMs: silenceMs,
        to: this.#options.to,
        signal,
      });
      if (stream.status !== 200) throw new SourceError(`${source.name} answered ${String(stream.status)}`);
      const parser = new NdjsonParser();
      for await (const chunk of stream.chunks) {
        if (signal.aborted) return;
        for (const value of parser.push(chunk)) {
          const frame = readReportFrame(value);
          if (frame === null) throw new SourceError(`${source.name} sent something that is no report`);
          onFrame(frame);
          connected(true);
        }
      }
    } catch (error) {
      if (!signal.aborted) this.#log.debug({ source: source.name, error }, 'report stream ended');
    } finally {
      connected(false);
    }
  }

  async #enterConnect(isMissed: boolean): Promise<void> {
    const waiting = this.#waiting[isMissed ? 1 : 0];
    if (this.#connects < this.#connectsMax) this.#connects += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  #leaveConnect(change: 1 | -1): void {
    this.#connects -= 1;
    this.#connectsMax = Math.min(CONNECTS.max, Math.max(CONNECTS.min, this.#connectsMax + change));
    while (this.#connects < this.#connectsMax) {
      const [fresh, missed] = this.#waiting;
      const next = fresh.shift() ?? missed.shift();
      if (next === undefined) return;
      this.#connects += 1;
      next();
    }
  }
}
