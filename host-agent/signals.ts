import { RecordError } from '../src/wire/codec.ts';
import type { SignalEntry } from '../src/wire/host-records.ts';
import { signalLine } from '../src/wire/host-records.ts';
import { ATTEMPT_FILES } from '../src/wire/shim-files.ts';
import { attemptFolder } from './attempt.ts';
import type { AgentPorts } from './ports.ts';
import { Turns } from './turns.ts';

const LOG = 'cmds.wal';
/** Signals of one attempt; a client that sends more than this has gone wild. */
const SIGNALS_MAX = 10_000;

/** `errno` null: its target had ended before it could be sent. */
export type SignalResult =
  | { readonly kind: 'sent'; readonly errno: number | null }
  | { readonly kind: 'refused'; readonly why: 'too-many' };

/**
 * Signals from outside, each sent once. The order is written down with its number before the shim hears of it, and the
 * shim sends no number twice: so whatever dies in between, asking again under the same command id is the same signal
 * (S2.8, S2.16).
 */
export class Signals {
  readonly #ports: AgentPorts;
  readonly #turns = new Turns();
  readonly #known = new Map<string, Known>();

  constructor(ports: AgentPorts) {
    this.#ports = ports;
  }

  /** @param name of an attempt or of a command in one. @throws DiskError when it cannot be recorded; then it is not sent */
  send(name: string, commandId: string, signal: string): Promise<SignalResult> {
    return this.#turns.take(name, async () => {
      const known = await this.#read(name);
      let entry = known.entries.find((one) => one.commandId === commandId);
      if (entry === undefined) {
        if (known.entries.length >= SIGNALS_MAX) return { kind: 'refused', why: 'too-many' };
        // A number is spent when the line may lie on disk, even if the disk said that it failed.
        known.last += 1;
        entry = { sequence: known.last, commandId, signal };
        // Begins with an end of line: the one before may be torn.
        await this.#ports.disk.append(logOf(name), `\n${signalLine.encode(entry)}\n`);
        known.entries.push(entry);
      }
      return { kind: 'sent', errno: await this.#tell(name, entry) };
    });
  }

  /** Sends what an earlier agent had written down and may not have sent. */
  async replay(name: string): Promise<void> {
    await this.#turns.take(name, async () => {
      const { entries } = await this.#read(name);
      if (entries.length === 0) return;
      const link = await this.#ports.processes.open(name);
      const state = (await link?.state()) ?? null;
      if (link !== null && state !== null)
        for (const { signal, sequence } of entries)
          if (sequence > state.signalSequence) await link.signal(signal, sequence);
      link?.close();
    });
  }

  forget(name: string): void {
    this.#known.delete(name);
  }

  /** The shim answers a number that it has sent before with what came of it then. */
  async #tell(name: string, { signal, sequence }: SignalEntry): Promise<number | null> {
    const acked = await this.#acked(name, sequence);
    if (acked !== null) return acked;
    const link = await this.#ports.processes.open(name);
    if (link === null) return this.#acked(name, sequence);
    const errno = await link.signal(signal, sequence);
    link.close();
    return errno ?? (await this.#acked(name, sequence));
  }

  /** What the shim wrote down after sending; it outlives the shim. */
  async #acked(name: string, sequence: number): Promise<number | null> {
    const text = await this.#ports.disk.read(`${attemptFolder(name)}/${ATTEMPT_FILES.acks}`);
    for (const line of (text ?? '').split('\n')) {
      const [number, errno] = line.split(' ').map(Number);
      if (number === sequence && errno !== undefined) return errno;
    }
    return null;
  }

  async #read(name: string): Promise<Known> {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const entries = readLines((await this.#ports.disk.read(logOf(name))) ?? '');
    const read = { entries, last: entries.at(-1)?.sequence ?? 0 };
    this.#known.set(name, read);
    return read;
  }
}

interface Known {
  readonly entries: SignalEntry[];
  /** The last number that was given. */
  last: number;
}

function logOf(name: string): string {
  return `${attemptFolder(name)}/${LOG}`;
}

function readLines(text: string): SignalEntry[] {
  const entries: SignalEntry[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    try {
      entries.push(signalLine.decode(line));
    } catch (error) {
      // A line that was torn was never sent, and nobody was answered for it.
      if (!(error instanceof RecordError)) throw error;
    }
  }
  return entries;
}
