import type { Epoch } from '../../src/core/cell/epoch.ts';
import { compareEpochs } from '../../src/core/cell/epoch.ts';
import { CLOCK_TOLERANCE_MS } from '../../src/core/quota/ticket.ts';
import { DiskError } from '../../src/ports/disk.ts';
import { RecordError } from '../../src/wire/wire.ts';
import type { JournalEntry, RefusalRecord } from '../../src/wire/host-files/host-files.ts';
import { journalLine } from '../../src/wire/host-files/host-files.ts';
import type { AgentPorts } from '../ports.ts';

const JOURNAL = 'journal';
/**
 * A used ticket, or an id that may not start, is remembered for this long after it could last be of use: many times what a
 * request, or a ticket, can be late. A scheduler that was frozen for longer is held off by its epoch, which is older than
 * that of who works on its jobs now. A busy host ends some thousand tasks in it.
 */
const MEMORY_MS = 15 * 60_000;
/** Below this many lines the file is never written anew: some MiB, read in a fraction of a second. */
const LINES_MAX = 20_000;
/** Lines that wait for a disk that takes none: some hundred KiB. What comes after them is written from memory. */
const PENDING_MAX = 5_000;
/** Lines of a newer version that are kept for it. */
const FOREIGN_MAX = 1_000;
/** Cells are restored from snapshots a few times in their lives. */
const PAST_CELLS_MAX = 16;

interface UsedTicket {
  readonly digest: string;
  readonly expiresMs: number;
}

interface Fence {
  readonly atMs: number;
  readonly refusal?: RefusalRecord;
}

/**
 * What a host must never forget, though it belongs to no allocation that is still there: which tickets were used, the
 * newest epoch, how late it has already been, and which ids may not be started again. A file of lines, each synced before
 * anything that rests on it is done.
 */
export class Journal {
  readonly #ports: AgentPorts;
  readonly #tickets = new Map<string, UsedTicket>();
  /** The oldest first. */
  readonly #fenced = new Map<string, Fence>();
  #epoch: Epoch | null = null;
  readonly #pastCells: string[] = [];
  /** Lines of a newer version: kept as they are, for when it comes back (S2.21). */
  readonly #foreign: string[] = [];
  #highWaterMs = 0;
  #lines = 0;
  /** Above this the file is written anew. Twice what was live the last time, so that the work per line stays constant. */
  #rewriteAbove = LINES_MAX;
  /** Lines that go together into the next append: they gather while the file is being written, or when it failed. */
  #gathered: string[] = [];
  /** More is known in memory than the file and the gathered lines say: only a file that is written anew makes up for it. */
  #isBehind = false;
  #nextAppend: Promise<void> | null = null;
  #lastAppend: Promise<void> = Promise.resolve();
  #lastWrite: Promise<void> = Promise.resolve();
  /** The last append failed, so the file may end within a line, to which nothing must be added. */
  #torn = false;

  private constructor(ports: AgentPorts) {
    this.#ports = ports;
  }

  static async open(ports: AgentPorts): Promise<Journal> {
    const journal = new Journal(ports);
    const text = (await ports.disk.read(JOURNAL)) ?? '';
    const unreadable = text.split('\n').filter((line) => line !== '' && !journal.#read(line));
    journal.#torn = text !== '' && !text.endsWith('\n');
    try {
      if (unreadable.length > 0) await journal.#putAway(unreadable);
      if (text !== '') await journal.#inOrder(() => journal.#rewrite());
    } catch (error) {
      // What was read stands, and the file with it: a host whose disk is full takes its tasks over all the same.
      if (!(error instanceof DiskError)) throw error;
      ports.log.error({ error }, 'the journal cannot be written anew');
    }
    return journal;
  }

  /** @returns false for a line that says nothing to anybody */
  #read(line: string): boolean {
    try {
      this.#take(journalLine.decode(line));
      return true;
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
    }
    if (!isWhole(line) || this.#foreign.length >= FOREIGN_MAX) return false;
    this.#foreign.push(line);
    return true;
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
  ticketUseOf(jti: string): string | undefined {
    return this.#tickets.get(jti)?.digest;
  }

  /** How a start of this id was refused for good; undefined also when it is fenced for another reason. */
  refusalOf(id: string): RefusalRecord | undefined {
    return this.#fenced.get(id)?.refusal;
  }

  /** A start with this epoch comes from a scheduler that has missed a newer term (I17). */
  isOld(epoch: Epoch): boolean {
    if (this.#pastCells.includes(epoch.incarnation)) return true;
    return this.#epoch !== null && compareEpochs(epoch, this.#epoch) === 'older';
  }

  /** Newer than all that this host has seen, so that to keep it would fence others off. The first epoch of a cell fences none. */
  isAhead(epoch: Epoch): boolean {
    return this.#isNews(epoch) && (this.#epoch !== null || epoch.counter > 0);
  }

  /** May this id not be started (any more)? */
  isFenced(id: string): boolean {
    return this.#fenced.has(id);
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

  /** Durable when it resolves, also for who comes second while the first one's line is on its way. */
  async recordEpoch(epoch: Epoch): Promise<void> {
    await (this.#isNews(epoch) ? this.#add([{ kind: 'epoch', epoch }]) : this.#settled());
  }

  async recordTime(): Promise<void> {
    await this.#add([{ kind: 'time', atMs: this.nowMs() }]);
  }

  async fence(id: string): Promise<void> {
    await this.#add([{ kind: 'barred', id, atMs: this.nowMs() }]);
  }

  /**
   * Durable when it resolves, also for who is refused because it was fenced before. Holds from the call on, whatever
   * becomes of the write.
   */
  async fenceRefused(id: string, refusal: RefusalRecord): Promise<void> {
    if (this.#fenced.has(id)) return this.#settled();
    const entry: JournalEntry = { kind: 'barred', id, atMs: this.nowMs(), refusal };
    this.#take(entry);
    await this.#add([entry]);
  }

  #isNews(epoch: Epoch): boolean {
    return this.#epoch === null || !['older', 'same'].includes(compareEpochs(epoch, this.#epoch));
  }

  #add(entries: readonly JournalEntry[]): Promise<void> {
    // In memory first: two calls at once must not both find a ticket unused.
    for (const entry of entries) this.#take(entry);
    this.#gathered.push(...entries.map((entry) => `${journalLine.encode(entry)}\n`));
    if (this.#torn) this.#boundGathered();
    return this.#appendSoon();
  }

  /** On a disk that takes none they must not grow for ever. */
  #boundGathered(): void {
    if (this.#gathered.length <= PENDING_MAX) return;
    this.#gathered.length = PENDING_MAX;
    this.#isBehind = true;
  }

  /** Resolves when all that is known here is durable. */
  #settled(): Promise<void> {
    return this.#gathered.length > 0 || this.#isBehind ? this.#appendSoon() : this.#lastAppend;
  }

  #appendSoon(): Promise<void> {
    if (this.#nextAppend !== null) return this.#nextAppend;
    const append = this.#inOrder(() => this.#append());
    this.#nextAppend = append;
    this.#lastAppend = append;
    return append;
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
    try {
      await this.#ports.disk.append(JOURNAL, `${this.#torn ? '\n' : ''}${lines.join('')}`);
    } catch (error) {
      // They are taken for known in memory, so they would never be written again.
      this.#torn = true;
      this.#gathered.unshift(...lines);
      this.#boundGathered();
      throw error;
    }
    this.#torn = false;
    this.#lines += lines.length;
    // Nothing is acknowledged after a failed rewrite until one succeeds: which of the two files survives is unknown.
    if (this.#isBehind || this.#lines > this.#rewriteAbove) await this.#rewrite();
  }

  #take(entry: JournalEntry): void {
    switch (entry.kind) {
      case 'ticket':
        this.#tickets.set(entry.jti, { digest: entry.digest, expiresMs: entry.expiresMs });
        return;
      case 'barred':
        this.#takeFence(entry);
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

  #takeFence({ id, atMs, refusal }: JournalEntry & { readonly kind: 'barred' }): void {
    this.#fenced.delete(id);
    this.#fenced.set(id, { atMs, ...(refusal && { refusal }) });
    const nowMs = this.nowMs();
    for (const [old, fence] of this.#fenced) {
      if (fence.atMs + MEMORY_MS >= nowMs) return;
      this.#fenced.delete(old);
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
    for (const [id, fence] of this.#fenced) {
      if (fence.atMs + MEMORY_MS < nowMs) this.#fenced.delete(id);
      else entries.push({ kind: 'barred', id, ...fence });
    }
    const lines = [...entries.map((entry) => journalLine.encode(entry)), ...this.#foreign];
    const wasBehind = this.#isBehind;
    this.#isBehind = false;
    try {
      await this.#ports.disk.replace(JOURNAL, lines.map((line) => `${line}\n`).join(''));
    } catch (error) {
      this.#isBehind ||= wasBehind;
      throw error;
    }
    this.#torn = false;
    this.#lines = lines.length;
    this.#rewriteAbove = Math.max(LINES_MAX, 2 * entries.length);
  }

  async #putAway(lines: readonly string[]): Promise<void> {
    this.#ports.metrics.count('moorage_host_records_unreadable_total', { kind: 'journal' }, lines.length);
    this.#ports.log.error({ lines: lines.length }, 'lines of the journal cannot be read');
    await this.#ports.disk.append('quarantine/journal', lines.map((line) => `${line}\n`).join(''));
  }
}

/** A torn line is no JSON; a whole one that is not understood was written by a version that says more. */
function isWhole(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'kind' in value;
  } catch {
    return false;
  }
}
