import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import type { LogHole } from '../../src/wire/host-files/attempt-files.ts';
import { segmentName, segmentOffset } from '../../src/wire/host-files/attempt-files.ts';

const HOLES_MAX = 8;

interface Bounds {
  readonly bytesMax: number;
  readonly filesMax: number;
}

/** One stream's output as bounded files, each named by the offset of its first byte; as `logs.c` of the native shim. */
export class Segments {
  readonly #stream: 'stdout' | 'stderr';
  readonly #bounds: Bounds;
  readonly #holes: LogHole[] = [];
  #fd: number | null = null;
  #base: number;
  #size = 0;
  #dropped = 0;

  constructor(stream: 'stdout' | 'stderr', base: number, bounds: Bounds) {
    this.#stream = stream;
    this.#base = base;
    this.#bounds = bounds;
  }

  /** Offset after the last byte. */
  get end(): number {
    return this.#base + this.#size;
  }

  /** Bytes that were counted and not kept. */
  get dropped(): number {
    return this.#dropped;
  }

  get holes(): readonly LogHole[] {
    return this.#holes;
  }

  keep(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#fd === null || this.#size >= this.#bounds.bytesMax) this.#next();
      const part = bytes.subarray(at, at + this.#bounds.bytesMax - this.#size);
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

  #write(part: Buffer): number {
    try {
      if (this.#fd !== null) return writeSync(this.#fd, part);
    } catch {
      // The disk is full: counted below, and the task goes on.
    }
    this.#skip(part.length);
    return part.length;
  }

  /** Offsets never move: what cannot be written leaves a hole of its length. */
  #skip(length: number): void {
    const from = this.end;
    const last = this.#holes.at(-1);
    if (last?.to === from) this.#holes.splice(-1, 1, { ...last, to: from + length });
    else if (this.#holes.length < HOLES_MAX)
      this.#holes.push({ stream: this.#stream, from, to: from + length });
    this.#dropped += length;
    try {
      if (this.#fd !== null) ftruncateSync(this.#fd, this.#size + length);
    } catch {
      // Not even a hole: the file ends here, and the next one begins where it should.
      if (this.#fd !== null) closeSync(this.#fd);
      this.#fd = null;
    }
  }

  #next(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#base += this.#size;
    this.#size = 0;
    const names = readdirSync('.').filter((name) => segmentOffset(this.#stream, name) !== null);
    const surplus = Math.max(0, names.length + 1 - this.#bounds.filesMax);
    for (const name of names.sort().slice(0, surplus)) unlinkSync(name);
    try {
      this.#fd = openSync(segmentName(this.#stream, this.#base), 'a', 0o600);
    } catch {
      this.#fd = null;
    }
  }
}
