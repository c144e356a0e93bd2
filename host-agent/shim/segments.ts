import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { segmentName, segmentOffset } from '../../src/wire/shim-files.ts';

/** One stream's output as bounded files, each named by the offset of its first byte; as `keep` in `shim.c`. */
export class Segments {
  readonly #stream: 'stdout' | 'stderr';
  readonly #bytesMax: number;
  readonly #filesMax: number;
  #fd: number | null = null;
  #base: number;
  #size = 0;
  #dropped = 0;

  constructor(stream: 'stdout' | 'stderr', base: number, bounds: { bytesMax: number; filesMax: number }) {
    this.#stream = stream;
    this.#base = base;
    this.#bytesMax = bounds.bytesMax;
    this.#filesMax = bounds.filesMax;
  }

  /** Offset after the last byte. */
  get end(): number {
    return this.#base + this.#size;
  }

  /** Bytes that were counted and not kept. */
  get dropped(): number {
    return this.#dropped;
  }

  keep(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#fd === null || this.#size >= this.#bytesMax) this.#next();
      const part = bytes.subarray(at, at + this.#bytesMax - this.#size);
      const written = this.#write(part);
      this.#size += written;
      at += written;
    }
  }

  close(): void {
    if (this.#fd === null) return;
    fdatasyncSync(this.#fd);
    closeSync(this.#fd);
  }

  /** Offsets never move: what cannot be written leaves a hole of its length. */
  #write(part: Buffer): number {
    try {
      if (this.#fd !== null) return writeSync(this.#fd, part);
    } catch {
      if (this.#fd !== null) tryTruncate(this.#fd, this.#size + part.length);
    }
    this.#dropped += part.length;
    return part.length;
  }

  #next(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#base += this.#size;
    this.#size = 0;
    try {
      this.#fd = openSync(segmentName(this.#stream, this.#base), 'a', 0o600);
    } catch {
      this.#fd = null;
    }
    const names = readdirSync('.').filter((name) => segmentOffset(this.#stream, name) !== null);
    for (const name of names.sort().slice(0, Math.max(0, names.length - this.#filesMax))) unlinkSync(name);
  }
}

function tryTruncate(fd: number, length: number): void {
  try {
    ftruncateSync(fd, length);
  } catch {
    // The disk takes nothing at all; the count of dropped bytes says so.
  }
}
