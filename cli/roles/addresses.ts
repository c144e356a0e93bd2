import { usageError } from '../command/exit.ts';

const BITS = 32;
/** Larger pools are a slip of the pen: a host runs some thousand tasks at most. */
const ADDRESSES_MAX = 4_096;

/** `127.64.0.0/28` or `10.0.0.5,10.0.0.6`. Of a network its own address and the last one, for all, are left out. */
export function readAddresses(text: string): readonly string[] {
  const all = text.split(',').flatMap((part) => readPart(part.trim()));
  if (new Set(all).size !== all.length) throw wrong(text);
  if (all.length > ADDRESSES_MAX) throw wrong(text);
  return all;
}

function readPart(text: string): string[] {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\/(\d{1,2}))?$/.exec(text);
  const bytes = parts?.slice(1, 5).map(Number) ?? [];
  const bits = parts?.[5] === undefined ? BITS : Number(parts[5]);
  if (parts === null || bytes.some((byte) => byte > 255) || bits > BITS) throw wrong(text);
  const size = 2 ** (BITS - bits);
  if (size > 2 * ADDRESSES_MAX) throw wrong(text);
  const own = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const first = own - (own % size);
  // A network of two addresses or one has neither.
  const edge = size > 2 ? 1 : 0;
  return Array.from({ length: size - 2 * edge }, (_, n) => textOf(first + edge + n));
}

function textOf(address: number): string {
  return [24, 16, 8, 0].map((shift) => String(Math.floor(address / 2 ** shift) % 256)).join('.');
}

function wrong(text: string): Error {
  return usageError(
    `--addresses ${text}: write them as NETWORK/BITS or as a list, each once, at most ${String(ADDRESSES_MAX)}`,
    '--addresses 127.64.0.0/28',
  );
}
