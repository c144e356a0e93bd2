/**
 * The fencing epoch: (cell incarnation, counter). A host refuses an order with an older epoch than one it has seen, so a
 * scheduler that was replaced while it was suspended can stop or start nothing (I17).
 *
 * The incarnation is a UUID that changes when the store is restored from a snapshot; a revision alone would go back.
 */
export interface Epoch {
  readonly incarnation: string;
  readonly counter: number;
}

export type EpochOrder = 'older' | 'same' | 'newer' | 'other-cell';

/** How `a` stands to `b`. Epochs of different incarnations cannot be ordered: `other-cell`. */
export function compareEpochs(a: Epoch, b: Epoch): EpochOrder {
  if (a.incarnation !== b.incarnation) return 'other-cell';
  if (a.counter === b.counter) return 'same';
  return a.counter < b.counter ? 'older' : 'newer';
}
