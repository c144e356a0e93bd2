import type { Epoch } from '../src/core/epoch.ts';
import { compareEpochs } from '../src/core/epoch.ts';
import { CLOCK_TOLERANCE_MS } from '../src/core/ticket.ts';
import { RecordError } from '../src/wire/codec.ts';
import type { JournalEntry } from '../src/wire/host-records.ts';
import { journalLine } from '../src/wire/host-records.ts';
import type { AgentPorts } from './ports.ts';

const JOURNAL = 'journal';
/** A used ticket, or an id that may not start, is remembered for this long after it could last be of use. */
const MEMORY_MS = 3600 * 1000;
/** Below this many lines the file is never written anew: some MiB, read in a fraction of a second. */
const LINES_MAX = 20_000;
/** Cells are restored from snapshots a few times in their lives. */
const PAST_CELLS_MAX = 16;

interface UsedTicket {
  readonly digest: string;
  readonly expiresMs: number;
}

/**
 * What a host must never forget, though it belongs to no allocation that is still there: which tickets were used, the
 * newest epoch, how late it has already been, and which ids may not be started again. A file of lines, each synced before
 * anything that rests on it is done.
 */
export class Journal {
  readonly #ports: AgentPorts;
  readonly #tickets = new Map<string, UsedTicket>();
  readonly #barred = new Map<string, number>();
  #epoch: Epoch | null = null;
  readonly #pastCells: string[] = [];
  #highWaterMs = 0;
  #lines = 0;
  /** Above this the file is written anew. Twice what was live the last time, so that the work per line stays constant. */
  #rewriteAbove = LINES_MAX;
  /** Lines that go together into the next append; they gather while the file is being written. */
  #gathered: string[] = [];
  #nextAppend: Promise<void> | null = null;
  #lastWrite: Promise<void> = Promise.resolve();

  private constructor(ports: AgentPorts) {
    this.#ports = ports;
  }

  static async open(ports: AgentPorts): Promise<Journal> {
    const journal = new Journal(ports);
    const text = (await ports.disk.read(JOURNAL)) ?? '';
    const unreadable: string[] = [];
    for (const line of text.split('\n')) {
      if (line === '') continue;
      try {
        journal.#take(journalLine.decode(line));
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        unreadable.push(line);
      }
    }
    if (unreadable.length > 0) await journal.#putAway(unreadable);
    if (text !== '') await journal.#inOrder(() => journal.#rewrite());
    return journal;
  }

  /**
   * The time by which tickets are judged: never earlier than it has ever been here, so that a clock that is set back
   * makes no ticket live longer (I36).
   */
  nowMs(): number {
    this.#highWaterMs = Math.max(this.#highWaterMs, Math.round(this.#ports.clock.nowMs()));
    return this.#highWaterMs;
  }

  /** What the ticket was used for; undefined when it was not used here. */
  useOf(jti: string): string | undefined {
    return this.#tickets.get(jti)?.digest;
  }

  /** A start with this epoch comes from somebody who has missed something (I17). */
  isOld(epoch: Epoch): boolean {
    if (this.#pastCells.includes(epoch.incarnation)) return true;
    return this.#epoch !== null && compareEpochs(epoch, this.#epoch) === 'older';
  }

  /** May this id not be started (any more)? */
  isBarred(id: string): boolean {
    return this.#barred.has(id);
  }

  /** Durable when it resolves: the ticket, the epoch and the time of an accepted start. */
  async recordStart(
    epoch: Epoch,
    ticket: { jti: string; digest: string; expiresMs: number } | null,
  ): Promise<void> {
    const entries: JournalEntry[] = [{ kind: 'time', atMs: this.nowMs() }];
    if (this.#isNews(epoch)) entries.push({ kind: 'epoch', epoch });
    if (ticket !== null) entries.push({ kind: 'ticket', ...ticket });
    await this.#add(entries);
  }

  async recordEpoch(epoch: Epoch): Promise<void> {
    if (this.#isNews(epoch)) await this.#add([{ kind: 'epoch', epoch }]);
  }

  async recordTime(): Promise<void> {
    await this.#add([{ kind: 'time', atMs: this.nowMs() }]);
  }

  async bar(id: string): Promise<void> {
    await this.#add([{ kind: 'barred', id, atMs: this.nowMs() }]);
  }

  #isNews(epoch: Epoch): boolean {
    return this.#epoch === null || !['older', 'same'].includes(compareEpochs(epoch, this.#epoch));
  }

  #add(entries: readonly JournalEntry[]): Promise<void> {
    // In memory first: two calls at once must not both find a ticket unused.
    for (const entry of entries) this.#take(entry);
    this.#gathered.push(...entries.map((entry) => `${journalLine.encode(entry)}\n`));
    this.#nextAppend ??= this.#inOrder(() => this.#append());
    return this.#nextAppend;
  }

  /**
   * One write of the file at a time: a line that is appended while the file is being rewritten would go to the old file,
   * and be lost with it although it was acknowledged.
   */
  #inOrder(write: () => Promise<void>): Promise<void> {
    const done = this.#lastWrite.then(write);
    // Whoever asked for a write hears of its failure; the next one is tried all the same.
    this.#lastWrite = done.catch(() => undefined);
    return done;
  }

  async #append(): Promise<void> {
    const lines = this.#gathered;
    this.#gathered = [];
    this.#nextAppend = null;
    await this.#ports.disk.append(JOURNAL, lines.join(''));
    this.#lines += lines.length;
    // Nothing is acknowledged after a failed rewrite until one succeeds: which of the two files survives is unknown.
    if (this.#lines > this.#rewriteAbove) await this.#rewrite();
  }

  #take(entry: JournalEntry): void {
    switch (entry.kind) {
      case 'ticket':
        this.#tickets.set(entry.jti, { digest: entry.digest, expiresMs: entry.expiresMs });
        return;
      case 'barred':
        this.#barred.set(entry.id, entry.atMs);
        return;
      case 'time':
        this.#highWaterMs = Math.max(this.#highWaterMs, entry.atMs);
        return;
      case 'epoch':
        if (!this.#isNews(entry.epoch)) return;
        if (this.#epoch !== null && this.#epoch.incarnation !== entry.epoch.incarnation) {
          this.#pastCells.push(this.#epoch.incarnation);
          if (this.#pastCells.length > PAST_CELLS_MAX) this.#pastCells.shift();
        }
        this.#epoch = entry.epoch;
    }
  }

  /** Only in its order: from the look at what is live to the rename nothing may be appended. */
  async #rewrite(): Promise<void> {
    const nowMs = this.nowMs();
    const entries: JournalEntry[] = [{ kind: 'time', atMs: nowMs }];
    for (const incarnation of this.#pastCells)
      entries.push({ kind: 'epoch', epoch: { incarnation, counter: 0 } });
    if (this.#epoch !== null) entries.push({ kind: 'epoch', epoch: this.#epoch });
    for (const [jti, used] of this.#tickets) {
      if (used.expiresMs + CLOCK_TOLERANCE_MS + MEMORY_MS < nowMs) this.#tickets.delete(jti);
      else entries.push({ kind: 'ticket', jti, ...used });
    }
    for (const [id, atMs] of this.#barred) {
      if (atMs + MEMORY_MS < nowMs) this.#barred.delete(id);
      else entries.push({ kind: 'barred', id, atMs });
    }
    await this.#ports.disk.replace(
      JOURNAL,
      entries.map((entry) => `${journalLine.encode(entry)}\n`).join(''),
    );
    this.#lines = entries.length;
    this.#rewriteAbove = Math.max(LINES_MAX, 2 * entries.length);
  }

  async #putAway(lines: readonly string[]): Promise<void> {
    this.#ports.metrics.count('moorage_host_records_unreadable_total', { kind: 'journal' }, lines.length);
    this.#ports.log.error({ lines: lines.length }, 'lines of the journal cannot be read');
    await this.#ports.disk.append('quarantine/journal', lines.map((line) => `${line}\n`).join(''));
  }
}
