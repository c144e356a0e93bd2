import type { Disk, WriteOptions } from '../../src/ports/disk.ts';
import { DiskError } from '../../src/ports/disk.ts';
import type { Life } from '../agenda/life.ts';
import type { Torn } from './disk-content.ts';
import type { Machine } from './machine.ts';

/** The machine's disk for one life of its agent. A write that was ordered is done even if the agent dies, whose promise then never settles. */
export class SimDisk implements Disk {
  readonly #machine: Machine;
  readonly #life: Life;

  constructor(machine: Machine, life: Life) {
    this.#machine = machine;
    this.#life = life;
  }

  read(path: string): Promise<string | null> {
    return this.#read(path, () => this.#machine.content.read(path));
  }

  publish(path: string, text: string, options: WriteOptions = {}): Promise<'published' | 'exists'> {
    return this.#write('disk publish', path, () => {
      const { content } = this.#machine;
      if (content.has(path)) return 'exists';
      content.write(path, text, options.durable ?? true);
      return 'published';
    });
  }

  replace(path: string, text: string): Promise<void> {
    return this.#write('disk replace', path, () => this.#machine.content.write(path, text, true));
  }

  hand(path: string, text: string): Promise<void> {
    return this.#write('disk hand', path, () => this.#machine.content.write(path, text, false));
  }

  append(path: string, text: string): Promise<void> {
    return this.#write('disk append', path, () => this.#machine.content.append(path, text, true), {
      path,
      text,
    });
  }

  list(path: string): Promise<readonly string[]> {
    return this.#read(path, () => this.#machine.content.list(path));
  }

  makeFolder(path: string): Promise<void> {
    return this.#write('disk folder', path, () => this.#machine.content.makeFolder(path));
  }

  remove(path: string): Promise<void> {
    return this.#write('disk remove', path, () => this.#machine.content.remove(path));
  }

  move(from: string, to: string): Promise<void> {
    return this.#write('disk move', from, () => this.#machine.content.move(from, to));
  }

  sizeOf(path: string): Promise<number | null> {
    return this.#read(path, () => {
      const text = this.#machine.content.read(path);
      return text === null ? null : Buffer.byteLength(text);
    });
  }

  readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    const piece = (): Uint8Array =>
      ENCODER.encode(this.#machine.content.read(path) ?? '').subarray(offset, offset + length);
    return this.#read(path, piece, 'range');
  }

  watch(path: string, onChange: () => void): () => void {
    const life = this.#life;
    const stop = this.#machine.content.watch(path, () => {
      this.#machine.agenda.after(this.#machine.disk.delayMs(), life, 'disk watch', onChange, path);
    });
    life.onEnd(stop);
    return stop;
  }

  freeBytes(): Promise<number> {
    return this.#read('', () => this.#machine.disk.freeBytes);
  }

  absolute(path: string): string {
    return `/${this.#machine.host}/${path}`;
  }

  /** Reads take no time, as from a page cache. A slow disk returns later what was there at the time of the call. */
  #read<T>(path: string, work: () => T, what: 'file' | 'range' = 'file'): Promise<T> {
    const { agenda, disk } = this.#machine;
    const fault = disk.readFault();
    if (fault !== null) return Promise.reject(fault);
    const delayMs = disk.readDelayMs(what);
    const found = work();
    if (delayMs === 0) return Promise.resolve(found);
    return new Promise((resolve) => {
      agenda.after(delayMs, this.#life, 'disk read', () => resolve(found), path);
    });
  }

  #write<T>(kind: string, path: string, work: () => T, tearable?: Torn): Promise<T> {
    const { agenda, disk, life: machine, tearing } = this.#machine;
    const life = this.#life;
    return new Promise((resolve, reject) => {
      if (tearable !== undefined) tearing.add(tearable);
      const done = (): void => {
        if (tearable !== undefined) tearing.delete(tearable);
        const settle = this.#settled(work, resolve, reject);
        if (life.ended) return;
        // A paused agent learns it when it is resumed.
        if (life.paused) agenda.after(0, life, kind, settle);
        else settle();
      };
      agenda.after(this.#machine.inOrder(path, disk.writeDelayMs()), machine, kind, done, path);
    });
  }

  #settled<T>(work: () => T, resolve: (value: T) => void, reject: (error: Error) => void): () => void {
    const fault = this.#machine.disk.writeFault();
    if (fault !== null) return () => reject(fault);
    try {
      const value = work();
      return () => resolve(value);
    } catch (error) {
      return () => reject(error instanceof DiskError ? error : new DiskError('io', String(error), error));
    }
  }
}

const ENCODER = new TextEncoder();
