/**
 * Between a value and the text that lies in the store or on disk.
 *
 * `schema-codec.ts` makes a codec from a zod schema. `quick-check.ts` turns a schema into a fast test that takes what this
 * program wrote itself; only what fails the test goes through the schema. `record-fields.ts` has readers for the two
 * records that are read by the ten thousand and have a codec by hand.
 */
export interface Codec<T> {
  encode(value: T): string;
  /** @throws RecordError naming the record kind and the place in it */
  decode(text: string): T;
}

/** A stored record that this version cannot read. */
export class RecordError extends Error {
  override readonly name = 'RecordError';
  readonly kind: string;

  constructor(kind: string, message: string, cause?: unknown) {
    super(`${kind} record: ${message}`, { cause });
    this.kind = kind;
  }
}
