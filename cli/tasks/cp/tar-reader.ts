/** What lies in a tar stream, as GNU tar, busybox and bsdtar write it: ustar, with long names by GNU's or pax's way. */
export interface TarEntry {
  readonly kind: 'file' | 'folder' | 'link' | 'hard-link' | 'other';
  /** As it was written: `./a/b`. */
  readonly path: string;
  readonly mode: number;
  readonly size: number;
  /** Of a link: where it leads. */
  readonly target: string;
  /** Of a file; what of it is not read is skipped. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** The stream is none, or was cut. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

const BLOCK = 512;
/** Names and pax records: a path has at most 4,096 bytes. */
const EXTRA_BYTES_MAX = 64 * 1024;
const KINDS: Readonly<Record<string, TarEntry['kind']>> = {
  ...{ '0': 'file', '\0': 'file', '7': 'file', '5': 'folder', '2': 'link', '1': 'hard-link' },
};

/** Closes the stream when it ends, or when no more entries are wanted. @throws TarError */
export async function* readTar(stream: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry, void> {
  const bytes = new Blocks(stream);
  try {
    yield* entriesOf(bytes);
  } finally {
    await bytes.close();
  }
}

async function* entriesOf(bytes: Blocks): AsyncGenerator<TarEntry, void> {
  let extra: Partial<Record<'path' | 'linkpath' | 'size', string>> = {};
  for (;;) {
    const header = await bytes.take(BLOCK);
    if (header.every((byte) => byte === 0)) {
      // The second block of zeros, and what pads the archive's last record.
      await bytes.rest();
      return;
    }
    const field = (at: number, length: number): string => textOf(header.subarray(at, at + length));
    if (sumOf(header) !== octal(field(148, 8))) throw new TarError('what came is no tar archive');
    const type = String.fromCharCode(header[156] ?? 0);
    const size = extra.size === undefined ? sizeOf(header) : Number(extra.size);
    if ('LKxg'.includes(type)) {
      if (size > EXTRA_BYTES_MAX) throw new TarError('a name in the archive is too long');
      const record = await bytes.take(size);
      await bytes.skip(padding(size));
      if (type === 'L') extra = { ...extra, path: textOf(record) };
      else if (type === 'K') extra = { ...extra, linkpath: textOf(record) };
      else if (type === 'x') extra = { ...extra, ...paxOf(record) };
      continue;
    }
    const prefix = field(257, 5) === 'ustar' && header[262] === 0 ? field(345, 155) : '';
    const kind = KINDS[type] ?? 'other';
    const body = bytes.body(kind === 'file' || kind === 'other' ? size : 0);
    yield {
      kind,
      path: extra.path ?? (prefix === '' ? field(0, 100) : `${prefix}/${field(0, 100)}`),
      mode: octal(field(100, 8)),
      size,
      target: extra.linkpath ?? field(157, 100),
      body,
    };
    for await (const _left of body) continue;
    extra = {};
  }
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString('utf8');
}

function octal(text: string): number {
  return parseInt(text.trim() || '0', 8);
}

/** GNU writes sizes that do not fit as octal digits in base 256. */
function sizeOf(header: Uint8Array): number {
  const field = header.subarray(124, 136);
  if (((field[0] ?? 0) & 0x80) === 0) return octal(textOf(field));
  return field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
}

/** Of the header's bytes, with its own field read as spaces. */
function sumOf(header: Uint8Array): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** Records `<length> <name>=<value>\n`. */
function paxOf(bytes: Uint8Array): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at < bytes.length;) {
    const length = parseInt(textOf(bytes.subarray(at, at + 20)), 10);
    if (!(length > 0)) throw new TarError('what came is no tar archive');
    const record = Buffer.from(bytes.subarray(at, at + length)).toString('utf8');
    const parts = /^\d+ ([^=]+)=([\s\S]*)\n$/.exec(record);
    if (parts !== null) found[parts[1] ?? ''] = parts[2] ?? '';
    at += length;
  }
  return found;
}

/** A stream by exact amounts. */
class Blocks {
  readonly #source: AsyncIterator<Uint8Array>;
  #have: Uint8Array = new Uint8Array(0);

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#source = stream[Symbol.asyncIterator]();
  }

  async take(size: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of this.#upTo(size)) parts.push(part);
    return Buffer.concat(parts);
  }

  async skip(size: number): Promise<void> {
    for await (const _part of this.#upTo(size)) continue;
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async rest(): Promise<void> {
    while ((await this.#source.next()).done !== true) continue;
  }

  /** May be read once, in whole or in part, and then again to skip what is left. */
  body(size: number): AsyncIterable<Uint8Array> {
    const parts = this.#padded(size);
    return { [Symbol.asyncIterator]: () => ({ next: () => parts.next() }) };
  }

  async *#padded(size: number): AsyncGenerator<Uint8Array, void> {
    yield* this.#upTo(size);
    await this.skip(padding(size));
  }

  async *#upTo(size: number): AsyncGenerator<Uint8Array, void> {
    for (let left = size; left > 0;) {
      if (this.#have.length === 0) {
        const next = await this.#source.next();
        if (next.done === true) throw new TarError('the archive ends too early');
        this.#have = next.value;
        continue;
      }
      const part = this.#have.subarray(0, left);
      this.#have = this.#have.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
}
