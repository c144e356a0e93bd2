/** What was thrown, in words. */

/** The message of an error; of anything else its text. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
