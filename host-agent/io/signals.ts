import { RecordError } from '../../src/wire/wire.ts';
import type { SignalEntry } from '../../src/wire/host-files/host-files.ts';
import { signalLine } from '../../src/wire/host-files/host-files.ts';
import { ATTEMPT_FILES } from '../../src/wire/host-files/attempt-files.ts';
import { attemptFolder } from '../tasks/attempt.ts';
import type { AgentPorts } from '../ports.ts';
import { KeyedMutex } from '../../src/runtime/wait/keyed-mutex.ts';

const LOG = 'cmds.wal';
/** Orders that are known again when they come again: many more than any client has under way. */
export const SIGNALS_KNOWN_MIN = 1_000;
/** With so many the log is written anew, without the oldest. Each agent reads all of it when it takes the task over. */
const SIGNALS_KNOWN_MAX = 2_000;

/**
 * Signals from outside, each sent once. The order is written down with its number before the shim hears of it, and the
 * shim sends no number twice: so whatever dies in between, asking again under the same command id is the same signal
 * (S2.8, S2.16), as long as no thousand others came after it.
 */
export class Signals {
  readonly #ports: AgentPorts;
  readonly #mutex = new KeyedMutex();
  readonly #known = new Map<string, Known>();

  constructor(ports: AgentPorts) {
    this.#ports = ports;
  }

  /**
   * @param name of an attempt or of a command in one
   * @returns the system's error number; null when its target had ended before it could be sent
   * @throws DiskError when it cannot be recorded; then it is not sent
   */
  send(name: string, commandId: string, signal: string): Promise<number | null> {
    return this.#mutex.runExclusive(name, async () => {
      const known = await this.#read(name);
      const before = known.entries.get(commandId);
      if (before !== undefined)
        return (await this.#acked(name, before.sequence)) ?? (await this.#tell(name, before));
      await this.#makeRoom(name, known);
      // A number is spent when the line may lie on disk, even if the disk said that it failed.
      known.last += 1;
      const entry = { sequence: known.last, commandId, signal };
      // Begins with an end of line: the one before may be torn.
      await this.#ports.disk.append(logOf(name), `\n${signalLine.encode(entry)}\n`);
      known.entries.set(commandId, entry);
      return this.#tell(name, entry);
    });
  }

  /** Sends what an earlier agent had written down and may not have sent. */
  async replay(name: string): Promise<void> {
    await this.#mutex.runExclusive(name, async () => {
      const { entries } = await this.#read(name);
      if (entries.size === 0) return;
      const link = await this.#ports.processes.open(name);
      const state = (await link?.state()) ?? null;
      if (link !== null && state !== null)
        for (const { signal, sequence } of entries.values())
          if (sequence > state.signalSequence) await link.signal(signal, sequence);
      link?.close();
    });
  }

  forget(name: string): void {
    this.#known.delete(name);
  }

  /** The shim answers a number that it has sent before with what came of it then. */
  async #tell(name: string, { signal, sequence }: SignalEntry): Promise<number | null> {
    const link = await this.#ports.processes.open(name);
    const errno = link === null ? null : await link.signal(signal, sequence);
    link?.close();
    return errno ?? (await this.#acked(name, sequence));
  }

  /** Forgets the oldest orders when there are too many. @throws DiskError; then none is forgotten */
  async #makeRoom(name: string, { entries }: Known): Promise<void> {
    if (entries.size < SIGNALS_KNOWN_MAX) return;
    const kept = [...entries.values()].slice(-SIGNALS_KNOWN_MIN);
    await this.#ports.disk.replace(logOf(name), kept.map((one) => `${signalLine.encode(one)}\n`).join(''));
    entries.clear();
    for (const one of kept) entries.set(one.commandId, one);
  }

  /** What the shim wrote down after sending; it outlives the shim. */
  async #acked(name: string, sequence: number): Promise<number | null> {
    for (const file of [ATTEMPT_FILES.acks, ATTEMPT_FILES.acksOlder]) {
      const text = await this.#ports.disk.read(`${attemptFolder(name)}/${file}`);
      for (const line of (text ?? '').split('\n')) {
        const [number, errno] = line.split(' ').map(Number);
        if (number === sequence && errno !== undefined) return errno;
      }
    }
    return null;
  }

  async #read(name: string): Promise<Known> {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const entries = readLines((await this.#ports.disk.read(logOf(name))) ?? '');
    const read: Known = {
      entries: new Map(entries.map((one) => [one.commandId, one])),
      last: entries.at(-1)?.sequence ?? 0,
    };
    this.#known.set(name, read);
    return read;
  }
}

interface Known {
  /** By command id, oldest first. */
  readonly entries: Map<string, SignalEntry>;
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
      // A line that was torn was never sent nor acknowledged.
      if (!(error instanceof RecordError)) throw error;
    }
  }
  return entries;
}
