import type { Mark } from '../../core/host/merge.ts';
import { isAfter } from '../../core/host/merge.ts';
import type { HostReport } from '../../core/host/report.ts';

/**
 * What is heard while somebody is asked for reports that went by: an answer from before it must bring back nothing that
 * is over since.
 */
export class ChangesDuringRead {
  /** By host that was heard: how old an answer may be. */
  readonly #stands = new Map<string, Mark>();
  readonly #gone = new Set<string>();
  readonly #left = new Set<string>();

  /** @param before how far the host had come */
  note(message: HostReport, before: Mark): void {
    const { kind, host, incarnation, seq } = message;
    if (kind === 'gone') this.#gone.add(message.id);
    const mark: Mark = { incarnation, seq };
    // It does not name those that are gone.
    if (kind === 'full' && isAfter(mark, before)) this.#stands.set(host, mark);
    else if (!this.#stands.has(host)) this.#stands.set(host, before);
  }

  /** Where the host stood when nothing was heard that an older answer could undo; undefined: it was not heard. */
  markBefore(host: string): Mark | undefined {
    return this.#stands.get(host);
  }

  /** The host is no longer registered. */
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
