/** A process that ends sooner than this after its start may end again as soon: the next start is delayed. */
const EARLY_MS = 5_000;
const DELAY_FIRST_MS = 250;
/**
 * What is missing may come back at any time (a file, a port, the store), so restarts never end; but a role that cannot start
 * costs a start of Node only so often.
 */
const DELAY_MAX_MS = 15_000;

/** How long to wait before a process is started again: not at all, but longer and longer when it never lives long. */
export class Restarts {
  #early = 0;

  /** How many times in a row it ended soon after its start. */
  get early(): number {
    return this.#early;
  }

  /** It ended. @param livedMs since its start @returns ms until the next one */
  ended(livedMs: number): number {
    this.#early = livedMs < EARLY_MS ? this.#early + 1 : 0;
    return this.#early < 2 ? 0 : Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** (this.#early - 2));
  }
}
