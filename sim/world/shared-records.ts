import type { Codec } from '../../src/wire/codec.ts';
import { aliveCodec } from '../../src/wire/host-records.ts';
import { reportFrames } from '../../src/wire/report-frames.ts';
import { ROOM_CODECS } from '../checkers/cell-replay.ts';

/**
 * A text of the store is read by six actors and a checker, one of a report stream by as many: in this thread, from here on
 * until it is called again, each is decoded for the first of them, and the others are given the same value.
 *
 * @param isGuarded values are frozen through and through, so that whoever writes to what was read throws instead of
 * telling the others. It costs as much as decoding, so that a share of the runs has to do it for all.
 */
export function shareRecords(isGuarded: boolean): void {
  const guard = isGuarded ? frozen : <T>(value: T): T => value;
  for (const [codec, decode] of DECODERS) codec.decode = sharing((text) => guard(decode(text)));
  reportFrames.read = sharing((line) => guard(READ_FRAME(line)));
}

const SHARED: ReadonlySet<Codec<object>> = new Set([...Object.values(ROOM_CODECS), aliveCodec]);
const DECODERS = [...SHARED].map((codec) => [codec, codec.decode.bind(codec)] as const);
const READ_FRAME = reportFrames.read;

/** Keeps what it read as long as it lives: no longer than a run, so that it is dropped with the run's world. */
function sharing<T>(read: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    let value = known.get(text);
    if (value === undefined) known.set(text, (value = read(text)));
    return value;
  };
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
