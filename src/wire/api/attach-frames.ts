import type { Exit } from '../../core/cell/allocation.ts';

/**
 * The messages between an attached client and a host: a letter, then the payload; numbers are little-endian. Every byte of
 * input and output has an offset, so that after a cut both sides resume, and no byte is lost or doubled.
 *
 *   client → host                          host → client
 *   I u64 offset, bytes                    s JSON AttachState                    first of all
 *   F u64 offset            end of input   o u64 offset, bytes                   stdout, or all of a terminal
 *   W u16 rows, u16 columns                e u64 offset, bytes                   stderr
 *   G JSON SignalOrder                     a u64 next, u8 refusal                input taken so far
 *                                          g JSON SignalAnswer
 *                                          x JSON AttachEnd                      after the last byte of output
 */
export type ClientFrame =
  | { readonly kind: 'input'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'end-input'; readonly offset: number }
  | { readonly kind: 'resize'; readonly rows: number; readonly columns: number }
  | { readonly kind: 'signal'; readonly order: SignalOrder };

export type HostFrame =
  | { readonly kind: 'state'; readonly state: AttachState }
  | {
      readonly kind: 'output';
      readonly stream: 'stdout' | 'stderr';
      readonly offset: number;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'taken'; readonly next: number; readonly refused: InputRefusal | null }
  | { readonly kind: 'signalled'; readonly answer: SignalAnswer }
  | { readonly kind: 'ended'; readonly end: AttachEnd };

export interface AttachState {
  /** The offset from which the host takes input. */
  readonly inputNext: number;
  /** Another client writes, and this one may not. Absent: it may. */
  readonly inputHeld?: boolean;
  /** The command was started with its input open. */
  readonly inputOpen: boolean;
  readonly terminal: boolean;
  /** Where output begins now: later than asked for when older bytes were dropped. */
  readonly stdout: number;
  readonly stderr: number;
}

/**
 * `gap`: bytes before these are missing. `closed`: the task does not read. `unsupported`: an old shim, without input.
 * `held`: another client writes.
 */
export const INPUT_REFUSALS = ['gap', 'closed', 'unsupported', 'held'] as const;
export type InputRefusal = (typeof INPUT_REFUSALS)[number];

export interface SignalOrder {
  /** The same id again is the same signal, sent once. */
  readonly commandId: string;
  readonly signal: string;
}

export interface SignalAnswer {
  readonly commandId: string;
  /** The system's error number; 0: sent. null: its target had ended. */
  readonly errno: number | null;
}

export interface AttachEnd {
  readonly exit: Exit;
  /** Of a command that could not be run at all. */
  readonly execErrno?: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

function joined(letter: string, numbers: Uint8Array, bytes: Uint8Array): Uint8Array {
  const message = new Uint8Array(1 + numbers.length + bytes.length);
  message[0] = letter.charCodeAt(0);
  message.set(numbers, 1);
  message.set(bytes, 1 + numbers.length);
  return message;
}

const NONE = new Uint8Array(0);

function u64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes;
}

function json(letter: string, value: unknown): Uint8Array {
  return joined(letter, NONE, encoder.encode(JSON.stringify(value)));
}

export function encodeClientFrame(frame: ClientFrame): Uint8Array {
  switch (frame.kind) {
    case 'input':
      return joined('I', u64(frame.offset), frame.bytes);
    case 'end-input':
      return joined('F', u64(frame.offset), NONE);
    case 'resize': {
      const { rows, columns } = frame;
      return joined('W', Uint8Array.of(rows & 255, rows >> 8, columns & 255, columns >> 8), NONE);
    }
    case 'signal':
      return json('G', frame.order);
  }
}

export function encodeHostFrame(frame: HostFrame): Uint8Array {
  switch (frame.kind) {
    case 'state':
      return json('s', frame.state);
    case 'output':
      return joined(frame.stream === 'stdout' ? 'o' : 'e', u64(frame.offset), frame.bytes);
    case 'taken': {
      const refusal = frame.refused === null ? 0 : 1 + INPUT_REFUSALS.indexOf(frame.refused);
      return joined('a', u64(frame.next), Uint8Array.of(refusal));
    }
    case 'signalled':
      return json('g', frame.answer);
    case 'ended':
      return json('x', frame.end);
  }
}

interface Opened {
  readonly letter: string;
  readonly payload: Uint8Array;
  u64(): number;
  rest(): Uint8Array;
  json(): unknown;
}

function opened(message: Uint8Array): Opened {
  const payload = message.subarray(1);
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  return {
    letter: String.fromCharCode(message[0] ?? 0),
    payload,
    u64: () => (payload.length < 8 ? -1 : Number(view.getBigUint64(0, true))),
    rest: () => payload.subarray(8),
    json: () => {
      try {
        return JSON.parse(decoder.decode(payload)) as unknown;
      } catch {
        return null;
      }
    },
  };
}

/** @returns null for what this version does not know, or what is no message of a client */
export function decodeClientFrame(message: Uint8Array): ClientFrame | null {
  const frame = opened(message);
  const { letter, payload } = frame;
  const offset = frame.u64();
  if (letter === 'I' && offset >= 0) return { kind: 'input', offset, bytes: frame.rest() };
  if (letter === 'F' && offset >= 0) return { kind: 'end-input', offset };
  if (letter === 'W' && payload.length >= 4) {
    const [rowsLow = 0, rowsHigh = 0, columnsLow = 0, columnsHigh = 0] = payload;
    return { kind: 'resize', rows: rowsLow + 256 * rowsHigh, columns: columnsLow + 256 * columnsHigh };
  }
  if (letter !== 'G') return null;
  const order = frame.json() as Partial<SignalOrder> | null;
  if (typeof order?.commandId !== 'string' || typeof order.signal !== 'string') return null;
  return { kind: 'signal', order: { commandId: order.commandId, signal: order.signal } };
}

/** @returns null for what this version does not know. The content is not checked: a client trusts the host. */
export function decodeHostFrame(message: Uint8Array): HostFrame | null {
  const frame = opened(message);
  switch (frame.letter) {
    case 's':
      return { kind: 'state', state: frame.json() as AttachState };
    case 'o':
    case 'e': {
      const stream = frame.letter === 'o' ? 'stdout' : 'stderr';
      return { kind: 'output', stream, offset: frame.u64(), bytes: frame.rest() };
    }
    case 'a': {
      const refusal = frame.rest()[0] ?? 0;
      const refused = refusal === 0 ? null : (INPUT_REFUSALS[refusal - 1] ?? 'unsupported');
      return { kind: 'taken', next: frame.u64(), refused };
    }
    case 'g':
      return { kind: 'signalled', answer: frame.json() as SignalAnswer };
    case 'x':
      return { kind: 'ended', end: frame.json() as AttachEnd };
    default:
      return null;
  }
}
