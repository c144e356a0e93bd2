import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { segmentName } from '../../src/wire/host-files/attempt-files.ts';
import type { Platform } from './platform.ts';

/**
 * One attempt's stdout as its shim keeps it (`host-agent/shim/segments.ts`): files of at most `segmentBytes`, each named by
 * the offset of its first byte, of which the newest `segmentsMax` are kept, and none of which is synced. What a full disk
 * does not take reads as zeros; where it takes not even those, or no new file, there is nothing until the next file.
 */
export class TaskOutput {
  readonly #machine: Platform;
  readonly #attempt: string;
  readonly #bounds: Pick<ShimLaunch, 'segmentBytes' | 'segmentsMax'>;
  /** Files that there are, the oldest first, each by its first offset. */
  #kept: number[] = [];
  /** Where the present segment begins, whether there is a file of it or not; null: before the first. */
  #base: number | null = null;
  #hasFile = false;
  #end: number;
  #lines = 0;

  constructor(machine: Platform, attempt: string, launch: ShimLaunch) {
    this.#machine = machine;
    this.#attempt = attempt;
    this.#bounds = launch;
    this.#end = launch.outBase;
  }

  /** Offset after the last byte, over all attempts. */
  get end(): number {
    return this.#end;
  }

  /** The task writes one more line, unlike all others. */
  writeLine(): void {
    this.#lines += 1;
    let rest = `${this.#attempt} ${String(this.#lines)}\n`;
    while (rest !== '') {
      if (this.#base === null || this.#end - this.#base >= this.#bounds.segmentBytes) this.#next();
      const free = this.#bounds.segmentBytes - (this.#end - (this.#base ?? 0));
      this.#write(rest.slice(0, free));
      rest = rest.slice(free);
    }
  }

  #write(text: string): void {
    const { content, disk, history, host } = this.#machine;
    const { fault } = disk;
    const isKept = this.#hasFile && fault === null;
    if (fault !== null && fault !== 'full') this.#hasFile = false;
    if (this.#hasFile)
      content.append(this.#pathOf(this.#base ?? 0), isKept ? text : ZERO.repeat(text.length), false);
    history.add('hosts', { kind: 'wrote', host, attempt: this.#attempt, offset: this.#end, text, isKept });
    this.#end += text.length;
  }

  #next(): void {
    const { content, disk, history, host } = this.#machine;
    this.#base = this.#end;
    while (this.#kept.length >= this.#bounds.segmentsMax) {
      content.remove(this.#pathOf(this.#kept[0] ?? 0));
      this.#kept = this.#kept.slice(1);
      history.add('hosts', {
        kind: 'gave-up',
        host,
        attempt: this.#attempt,
        until: this.#kept[0] ?? this.#end,
      });
    }
    this.#hasFile = disk.fault === null;
    if (this.#hasFile) this.#kept.push(this.#base);
  }

  #pathOf(base: number): string {
    return `attempts/${this.#attempt}/${segmentName('stdout', base)}`;
  }
}

/** What a hole in a file reads as. */
const ZERO = '\0';
