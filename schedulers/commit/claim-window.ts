/** Commits go as fast with as many as with more, and a new job waits for no more than these (S3.47). */
const CLAIMS_MAX = 1_024;
/** So that a scheduler which loses much is not idle while it waits for the store. */
const CLAIMS_MIN = 8;
/** What a claim does to the window. It stays as it is when some three of a hundred are in conflict. */
const CHANGE = { landed: 1 + 1 / 128, conflicted: 3 / 4 };
/** What the claims of one plan may do to it. */
const CHANGE_MAX = { less: 1 / 2, more: 2 };

/**
 * How many claims may be between decision and the end of their commit. Each was decided on knowledge that is as old as the
 * claims before it took: where schedulers look for the same last places, many at once are decided on what others have taken
 * meanwhile. So the window narrows with each that is in conflict, as a sender's does on a congested link, and widens when
 * they land.
 */
export class ClaimWindow {
  #claims = CLAIMS_MAX;

  get claims(): number {
    return Math.floor(this.#claims);
  }

  /** The claims of a plan were answered. @param conflicted how many of them were in conflict */
  answered(claims: number, conflicted: number): void {
    const change = CHANGE.landed ** (claims - conflicted) * CHANGE.conflicted ** conflicted;
    const bounded = Math.max(CHANGE_MAX.less, Math.min(CHANGE_MAX.more, change));
    this.#claims = Math.max(CLAIMS_MIN, Math.min(CLAIMS_MAX, this.#claims * bounded));
  }
}
