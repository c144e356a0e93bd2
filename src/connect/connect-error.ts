/** Of the process: `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the cell is, or what is shown to it, cannot be read: a sentence, and what to do next. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}
