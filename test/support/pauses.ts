import type { Pause } from '../../src/core/quota/pauses.ts';
import { pauseName } from '../../src/core/quota/pauses.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { pauseCodec } from '../../src/wire/records/records.ts';

/** What an operator's pause writes: the key, and the record. */
export function pauseRecord(keys: CellKeys, pause: Partial<Pause>): readonly [key: string, value: string] {
  const made: Pause = { what: 'placement', by: 'ada', reason: 'new disks', sinceMs: 0, ...pause };
  return [keys.pause(pauseName(made.what, made)), pauseCodec.encode(made)];
}
