export interface Abandonable {
  /** The role cannot go on. Later calls do nothing. */
  readonly abandon: (error: Error) => void;
  /** Settles as `ended` does, or rejects with the error of `abandon`. A rejection that no caller awaits is no fault. */
  readonly or: (ended: Promise<void>) => Promise<void>;
}

/** Lets an adapter end the role above it, such as the store's client when another store answers than before. */
export function abandonable(): Abandonable {
  let abandon: (error: Error) => void = () => undefined;
  const abandoned = new Promise<never>((_, reject) => (abandon = reject));
  abandoned.catch(() => undefined);
  return {
    abandon,
    or: (ended) => {
      const either = Promise.race([ended, abandoned]);
      either.catch(() => undefined);
      return either;
    },
  };
}
