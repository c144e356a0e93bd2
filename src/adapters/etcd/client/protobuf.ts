/**
 * Protocol buffers by hand, as far as transactions and watches need them. `etcd3` makes an object and a message for each
 * operation, and reads an unused header for each of a reply's 128 results: together two thirds of what a commit costs this
 * process.
 */

/** In the order of the wire format: `field number << 3 | kind`. */
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

/** Texts up to here are measured and written one character at a time, which is faster than a call out of the engine. */
const SHORT_CHARS_MAX = 48;
const BYTES_FIRST = 64 * 1024;
const TWO_TO_32 = 0x1_0000_0000;

export function tagOf(field: number, kind: 'varint' | 'bytes'): number {
  return (field << 3) | (kind === 'varint' ? VARINT : BYTES);
}

/** Bytes of a number from 0 up. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
}

let lastDecimal = '0';
let lastDecimalBytes: Uint8Array = Uint8Array.of(0);

/**
 * An unsigned 64-bit number, which may be too large for a safe integer, as a varint. The last one is kept: it mostly is the
 * lease of all that is written.
 */
export function decimalBytes(decimal: string): Uint8Array {
  if (decimal !== lastDecimal) {
    const bytes: number[] = [];
    let rest = BigInt(decimal);
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    [lastDecimal, lastDecimalBytes] = [decimal, Uint8Array.from(bytes)];
  }
  return lastDecimalBytes;
}

/** Bytes of the text in UTF-8. */
export function textSize(text: string): number {
  if (text.length > SHORT_CHARS_MAX) return Buffer.byteLength(text);
  let codes = 0;
  for (let at = 0; at < text.length; at++) codes |= text.charCodeAt(at);
  return codes < 0x80 ? text.length : Buffer.byteLength(text);
}

/** Bytes of a field with a tag of one byte, a length and `size` bytes. */
export function fieldSize(size: number): number {
  return 1 + varintSize(size) + size;
}

/** Writes messages front to back: the caller gives the sizes of nested ones beforehand. */
export class ProtoWriter {
  #bytes = Buffer.allocUnsafeSlow(BYTES_FIRST);
  #at = 0;

  /** A copy of what was written; the writer begins anew. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#at);
    this.#bytes.copy(taken, 0, 0, this.#at);
    this.#at = 0;
    return taken;
  }

  /** @param value from 0 to the largest safe integer */
  varint(tag: number, value: number): void {
    this.#room(16);
    if (tag < 0x80) this.#bytes[this.#at++] = tag;
    else this.#number(tag);
    this.#number(value);
  }

  /** @param bytes of the number, from `decimalBytes` */
  decimal(tag: number, bytes: Uint8Array): void {
    this.#room(16);
    this.#bytes[this.#at++] = tag;
    for (const byte of bytes) this.#bytes[this.#at++] = byte;
  }

  /** The head of a nested message of `size` bytes, which comes next. */
  nested(tag: number, size: number): void {
    this.varint(tag, size);
  }

  /** @param size of the text, from `textSize` */
  text(tag: number, text: string, size: number): void {
    this.varint(tag, size);
    this.#room(size);
    if (size !== text.length) this.#bytes.write(text, this.#at, size, 'utf8');
    else if (size > SHORT_CHARS_MAX) this.#bytes.write(text, this.#at, size, 'latin1');
    else {
      const bytes = this.#bytes;
      const start = this.#at;
      for (let at = 0; at < size; at++) bytes[start + at] = text.charCodeAt(at);
    }
    this.#at += size;
  }

  /** Adds one to the last byte written: a prefix becomes the first key behind its range. */
  bumpLast(): void {
    this.#bytes[this.#at - 1]! += 1;
  }

  #number(value: number): void {
    let rest = value;
    for (; rest >= 0x8000_0000; rest = Math.floor(rest / 0x80))
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  #room(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const wider = Buffer.allocUnsafeSlow(2 * needed);
    this.#bytes.copy(wider, 0, 0, this.#at);
    this.#bytes = wider;
  }
}

/** The bytes are no message of the kind that was expected. */
export class MalformedMessage extends RangeError {
  override readonly name = 'MalformedMessage';
}

/**
 * Reads messages field by field. After `next` gave a field's number, exactly one of `number`, `decimal`, `text`,
 * `passText`, `enter` and `skip` must follow. All throw `MalformedMessage`.
 */
export class ProtoReader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;
  #kind = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  /** The number of the next field; 0 at the end of the message. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    const tag = this.#low();
    this.#kind = tag & 7;
    return tag >>> 3;
  }

  /** A number from 0 up to the largest safe integer. */
  number(): number {
    const low = this.#low();
    return this.#high === 0 ? low : this.#high * TWO_TO_32 + low;
  }

  /** An unsigned 64-bit number. */
  decimal(): string {
    const low = this.#low();
    return this.#high === 0 ? String(low) : String((BigInt(this.#high) << 32n) | BigInt(low));
  }

  text(): string {
    const size = this.#low();
    const start = this.#at;
    this.#at += size;
    return this.#bytes.toString('utf8', start, this.#checked());
  }

  /** Steps over a text. @returns what `textAt` takes */
  passText(): number {
    const start = this.#at;
    const size = this.#low();
    this.#at += size;
    this.#checked();
    return start;
  }

  /** The text that was stepped over. */
  textAt(place: number): string {
    const here = this.#at;
    this.#at = place;
    const text = this.text();
    this.#at = here;
    return text;
  }

  /** Goes into the nested message; at its end, call `leave` with the returned value. */
  enter(): number {
    const size = this.#low();
    const outer = this.#end;
    if (this.#at + size > outer) throw new MalformedMessage('a message of the store is cut short');
    this.#end = this.#at + size;
    return outer;
  }

  leave(outer: number): void {
    this.#at = this.#end;
    this.#end = outer;
  }

  skip(): void {
    if (this.#kind === VARINT) this.#low();
    else if (this.#kind === BYTES) {
      const size = this.#low();
      this.#at += size;
    } else if (this.#kind === FIXED_64) this.#at += 8;
    else if (this.#kind === FIXED_32) this.#at += 4;
    else
      throw new MalformedMessage(`a message of the store has a field of unknown kind ${String(this.#kind)}`);
    this.#checked();
  }

  /** The upper half of the number that `#low` read last. */
  #high = 0;

  #low(): number {
    const bytes = this.#bytes;
    let low = 0;
    let byte = bytes[this.#at++] as number;
    this.#high = 0;
    if (byte < 0x80) return byte;
    low = byte & 0x7f;
    for (let shift = 7; ; shift += 7) {
      byte = bytes[this.#at++] as number;
      const part = byte & 0x7f;
      if (shift < 28) low |= part << shift;
      else if (shift === 28) {
        low |= (part & 0x0f) << 28;
        this.#high = part >>> 4;
      } else this.#high |= part << (shift - 32);
      if (!(byte >= 0x80)) break;
    }
    this.#checked();
    this.#high >>>= 0;
    return low >>> 0;
  }

  #checked(): number {
    if (this.#at > this.#end) throw new MalformedMessage('a message of the store is cut short');
    return this.#at;
  }
}
