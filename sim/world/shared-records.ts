import type { Codec } from '../../src/wire/wire.ts';
import { aliveCodec } from '../../src/wire/host-files/host-files.ts';
import { RECORD_CODECS } from '../checkers/replay/replay.ts';

/** More texts than a run writes of one kind; then all are forgotten. */
const TEXTS_MAX = 2_000;

/**
 * A text of the store is read by six actors and a checker: from here on, in this thread, it is decoded for the first of
 * them, and all get the same value. It is deeply frozen, so that a role that writes to what it read
 * throws instead of telling the others.
 */
export function shareRecords(): void {
  for (const codec of SHARED.splice(0)) share(codec);
}

const SHARED: Codec<object>[] = [...new Set<Codec<object>>(Object.values(RECORD_CODECS)), aliveCodec];

function share(codec: Codec<object>): void {
  const known = new Map<string, object>();
  const decode = codec.decode.bind(codec);
  codec.decode = (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const value = frozen(decode(text));
    if (known.size >= TEXTS_MAX) known.clear();
    known.set(text, value);
    return value;
  };
}

function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value) as unknown[])
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) frozen(part);
  return Object.freeze(value);
}
