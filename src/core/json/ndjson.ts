/** Longer lines are refused: a `full` report of a host with some thousands of allocations fits. */
export const NDJSON_LINE_BYTES_MAX = 16 * 1024 * 1024;

/** The peer sent something that is not NDJSON, or a line over the bound. */
export class NdjsonError extends Error {
  override readonly name = 'NdjsonError';
}

const NEWLINE = 0x0a;

/** Cuts byte chunks into lines and parses each as JSON; empty lines are skipped. */
export class NdjsonParser {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #lineLengthMax: number;
  /** The last chunk ended with a newline, so that no character is cut. */
  #isAtStart = true;
  /** Pieces of the line that is not yet complete: joined once, so a long line costs no quadratic copying. */
  #pieces: string[] = [];
  #length = 0;

  constructor(lineLengthMax = NDJSON_LINE_BYTES_MAX) {
    this.#lineLengthMax = lineLengthMax;
  }

  /**
   * @returns the values whose lines end within this chunk
   * @throws NdjsonError
   */
  push(chunk: Uint8Array): unknown[] {
    const text = this.#decode(chunk);
    const values: unknown[] = [];
    let start = 0;
    for (;;) {
      const end = text.indexOf('\n', start);
      if (end < 0) break;
      this.#keep(text.slice(start, end));
      const line = this.#pieces.length === 1 ? (this.#pieces[0] ?? '') : this.#pieces.join('');
      this.#pieces = [];
      this.#length = 0;
      start = end + 1;
      if (line.trim() !== '') values.push(parse(line));
    }
    if (start < text.length) this.#keep(text.slice(start));
    return values;
  }

  #decode(chunk: Uint8Array): string {
    const wasAtStart = this.#isAtStart;
    this.#isAtStart = chunk.at(-1) === NEWLINE;
    try {
      if (wasAtStart && this.#isAtStart) return WHOLE.decode(chunk);
      return this.#decoder.decode(chunk, { stream: true });
    } catch (error) {
      throw new NdjsonError('not UTF-8', { cause: error });
    }
  }

  #keep(piece: string): void {
    this.#length += piece.length;
    if (this.#length > this.#lineLengthMax)
      throw new NdjsonError(`a line is longer than ${String(this.#lineLengthMax)}`);
    this.#pieces.push(piece);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    throw new NdjsonError('a line is not JSON', { cause: error });
  }
}

/** For chunks of whole lines, which nearly all are: no state is needed. */
const WHOLE = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The values of an NDJSON stream, one by one. A last line without its end is a cut message and is dropped.
 * @throws NdjsonError, and whatever `chunks` throws
 */
export async function* ndjson(
  chunks: AsyncIterable<Uint8Array>,
  lineLengthMax = NDJSON_LINE_BYTES_MAX,
): AsyncGenerator<unknown> {
  const parser = new NdjsonParser(lineLengthMax);
  for await (const chunk of chunks) yield* parser.push(chunk);
}

export function ndjsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
