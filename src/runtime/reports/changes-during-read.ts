import type { Mark } from '../../core/host/merge.ts';
import { isAfter } from '../../core/host/merge.ts';
import type { HostReport } from '../../core/host/report.ts';

/**
 * What hosts report while a monitor is asked for reports that were not kept: an older answer must not bring back what is
 * over since.
 */
export class ChangesDuringRead {
  /** By host that reported: how old an answer may be. */
  readonly #marks = new Map<string, Mark>();
  readonly #gone = new Set<string>();
  readonly #left = new Set<string>();

  /** @param before how far the host had come */
  note(message: HostReport, before: Mark): void {
    const { kind, host, incarnation, seq } = message;
    if (kind === 'gone') this.#gone.add(message.id);
    const mark: Mark = { incarnation, seq };
    // A full report does not name the allocations that are gone.
    if (kind === 'full' && isAfter(mark, before)) this.#marks.set(host, mark);
    else if (!this.#marks.has(host)) this.#marks.set(host, before);
  }

  /** An answer about the host that is older than this could undo something; undefined: the host did not report. */
  markBefore(host: string): Mark | undefined {
    return this.#marks.get(host);
  }

  noteLeft(host: string): void {
    this.#left.add(host);
  }

  hasLeft(host: string): boolean {
    return this.#left.has(host);
  }

  isGone(id: string): boolean {
    return this.#gone.has(id);
  }
}
