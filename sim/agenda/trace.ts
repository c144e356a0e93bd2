import type { LogFields } from '../../src/ports/telemetry.ts';
import type { AgendaEntry } from './life.ts';

/** Receives the events and log lines of a run as they happen. */
export interface TraceSink {
  readonly event?: (entry: AgendaEntry, index: number) => void;
  readonly log?: (atMs: number, actor: string, level: LogLevel, fields: LogFields, message: string) => void;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Notes longer than this go into the hash by their length and every few of their characters. */
const WHOLE_NOTE_MAX = 48;
const SAMPLES = 32;

/** A running hash over everything that happened: equal for equal runs, in any process. */
export class TraceHash {
  #a = 0x811c_9dc5;
  #b = 0x9e37_79b9;
  readonly #float = new Float64Array(1);
  readonly #words = new Uint32Array(this.#float.buffer);

  add(entry: AgendaEntry): void {
    this.#float[0] = entry.atMs;
    this.#word(this.#words[0] ?? 0);
    this.#word(this.#words[1] ?? 0);
    this.#word(entry.life.incarnation);
    this.#text(entry.life.actor);
    this.#text(entry.kind);
    if (entry.note !== '') this.#text(entry.note);
  }

  get hex(): string {
    return (this.#a >>> 0).toString(16).padStart(8, '0') + (this.#b >>> 0).toString(16).padStart(8, '0');
  }

  #text(text: string): void {
    const { length } = text;
    this.#word(length);
    const step = length <= WHOLE_NOTE_MAX ? 1 : length / SAMPLES;
    for (let at = 0; at < length; at += step) this.#word(text.charCodeAt(at | 0));
  }

  #word(word: number): void {
    this.#a = Math.imul(this.#a ^ word, 0x0100_0193);
    this.#b = (Math.imul(this.#b, 0x85eb_ca6b) + word) ^ (this.#b >>> 15);
  }
}
