/** The body of every error answer, after RFC 9457 (`application/problem+json`). */
export interface Problem {
  readonly status: number;
  /** Stable, for programs: `ticket-expired`, `no-fit`. */
  readonly code: string;
  /** One sentence for people, without a stack or a path of the server. */
  readonly detail: string;
  /** What to do about it: often the next command to type. */
  readonly hint?: string;
  /** The place in the request that is wrong: `groups.web.count`. */
  readonly path?: string;
  /** Further facts, by code. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** An error that a route turns into a problem answer, and a client makes of one. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem, cause?: unknown) {
    super(problem.detail, { cause });
    this.problem = problem;
  }
}
