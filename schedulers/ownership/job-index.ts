import type { JobRecord, SchedulerKind } from '../../src/core/cell/job.ts';
import { JOB_TYPES, SCHEDULER_KINDS, schedulerKindOf } from '../../src/core/cell/job.ts';
import type { CellStore, Entry, Following } from '../../src/ports/cell-store.ts';
import { RecordError } from '../../src/wire/wire.ts';
import { jobCodec } from '../../src/wire/records/records.ts';

export interface JobIndexOptions {
  /** A job appeared, changed or went. Called after the index itself changed. */
  readonly onChange: (key: string, now: JobRow | undefined) => void;
  readonly onBadRecord: (error: Error, key: string) => void;
}

/**
 * All jobs of the cell, as text: each scheduler sees every job and works on few of them, and to decode a record costs ten
 * times what it costs to keep it. Keys are `<namespace>/<job>`.
 */
export class JobIndex {
  readonly ready: Promise<void>;
  readonly #prefix: string;
  readonly #options: JobIndexOptions;
  readonly #rows = new Map<string, JobRow>();
  readonly #following: Following;

  constructor(store: CellStore, prefix: string, options: JobIndexOptions) {
    this.#prefix = prefix;
    this.#options = options;
    this.#following = store.follow(prefix, {
      onSnapshot: ({ entries }) => {
        for (const key of [...this.#rows.keys()]) if (!entries.has(prefix + key)) this.#remove(key);
        for (const entry of entries.values()) this.#set(entry, false);
      },
      onChanges: (changes) => {
        for (const change of changes) {
          if (change.kind === 'put') this.#set(change.entry, true);
          else this.#remove(change.key.slice(prefix.length));
        }
      },
    });
    this.ready = this.#following.ready;
  }

  get(key: string): JobRow | undefined {
    return this.#rows.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#rows.keys();
  }

  close(): void {
    this.#following.close();
  }

  #set(entry: Entry, isChange: boolean): void {
    const key = entry.key.slice(this.#prefix.length);
    if (this.#rows.get(key)?.modRevision === entry.modRevision) return;
    const isNew = isChange && entry.createRevision === entry.modRevision;
    const row = new JobRow(entry, isNew, this.#options.onBadRecord);
    this.#rows.set(key, row);
    this.#options.onChange(key, row);
  }

  #remove(key: string): void {
    if (this.#rows.delete(key)) this.#options.onChange(key, undefined);
  }
}

export interface JobAtRevision {
  readonly value: JobRecord;
  readonly modRevision: number;
}

/** One job as it lies in the store; decoded when it is asked for. */
export class JobRow {
  readonly modRevision: number;
  /** The watch showed its creation, and no change since: most likely the store holds nothing else of it. */
  readonly isNew: boolean;
  readonly #onBadRecord: JobIndexOptions['onBadRecord'];
  readonly #entry: Entry;
  #kind: SchedulerKind | null | undefined;
  #isBad = false;

  constructor(entry: Entry, isNew: boolean, onBadRecord: JobIndexOptions['onBadRecord']) {
    this.modRevision = entry.modRevision;
    this.isNew = isNew;
    this.#entry = entry;
    this.#onBadRecord = onBadRecord;
  }

  /** The kind of scheduler that it seems to be for, at a tenth of the cost of `read`; null when it cannot be read. */
  get kind(): SchedulerKind | null {
    this.#kind ??= this.#isBad ? null : this.#kindFromText();
    return this.#kind;
  }

  /** The record, decoded anew each time; null when it cannot be read, which is reported once. */
  read(): JobRecord | null {
    if (this.#isBad) return null;
    try {
      return jobCodec.decode(this.#entry.value);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      this.#isBad = true;
      this.#onBadRecord(error, this.#entry.key);
      return null;
    }
  }

  /** The same with its revision. */
  readAt(): JobAtRevision | null {
    const value = this.read();
    return value === null ? null : { value, modRevision: this.modRevision };
  }

  #kindFromText(): SchedulerKind | null {
    const seen = KIND_IN_TEXT.exec(this.#entry.value);
    if (seen !== null) {
      const [, type, scheduler] = seen;
      return (scheduler === 'auto' ? type : scheduler) as SchedulerKind;
    }
    try {
      const { job } = JSON.parse(this.#entry.value) as Pick<JobRecord, 'job'>;
      return schedulerKindOf(job);
    } catch {
      const record = this.read();
      return record === null ? null : schedulerKindOf(record.job);
    }
  }
}

/** The beginning of a record as monitors write it; another order of its fields only takes longer to read. */
const KIND_IN_TEXT = new RegExp(
  String.raw`^\{"v":1,"job":\{"namespace":"[^"\\]*","name":"[^"\\]*","type":"(${JOB_TYPES.join('|')})",` +
    String.raw`"precedence":\d+,"scheduler":"(${[...SCHEDULER_KINDS, 'auto'].join('|')})"`,
);
