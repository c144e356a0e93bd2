/** Between a value and the text that lies in the store or on disk. */
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
