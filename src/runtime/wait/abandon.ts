export interface Abandonable {
  /** The role cannot go on. Later calls do nothing. */
  readonly abandon: (error: Error) => void;
  /** Ends as `ended` does, or rejects with what was given up for. Whoever does not wait for it is not disturbed by it. */
  readonly or: (ended: Promise<void>) => Promise<void>;
}

/** The end of a role that something below it brings about, such as a store that is not the one it knew. */
export function abandonable(): Abandonable {
  let giveUp: (error: Error) => void = () => undefined;
  const givenUp = new Promise<never>((_, reject) => (giveUp = reject));
  givenUp.catch(() => undefined);
  return {
    abandon: giveUp,
    or: (ended) => {
      const either = Promise.race([ended, givenUp]);
      either.catch(() => undefined);
      return either;
    },
  };
}
