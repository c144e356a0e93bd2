import type { Job, JobRecord } from '../../core/cell/job.ts';
import { jobCodec } from '../records/job-codec.ts';

/** A job of a list: a checked job, or the same under another name. */
export class ListedJob {
  /** The checked job; jobs that differ by name only share it. */
  readonly model: Job;
  readonly name: string;
  /** Written in the short form: its group and its task have the job's name. */
  readonly isShort: boolean;

  constructor(model: Job, name = model.name, isShort = false) {
    this.model = model;
    this.name = name;
    this.isShort = isShort;
  }

  get namespace(): string {
    return this.model.namespace;
  }

  /** The whole job, made at each read: most of a list is only needed as text. */
  get job(): Job {
    const { model, name } = this;
    if (name === model.name) return model;
    if (!this.isShort) return { ...model, name };
    const [group] = Object.values(model.groups);
    const [task] = Object.values(group?.tasks ?? {});
    if (group === undefined || task === undefined) throw new Error('a job of the short form has one task');
    return { ...model, name, groups: { [name]: { ...group, name, tasks: { [name]: { ...task, name } } } } };
  }
}

/** In the short form the name stands once for the job, and twice each for its group and its task. */
const NAMES_SHORT = 5;
const NAMES_LONG = 1;

/**
 * The records of a list's jobs as text, equal to the codec's, at a tenth of its cost for jobs that differ by name: their text
 * is cut where the quoted name stands, if it stands there and nowhere else.
 */
export class ListedJobTexts {
  readonly #rest: Omit<JobRecord, 'job'>;
  #model: Job | null = null;
  /** The model's record, cut where its name stands; null: the name stands elsewhere too. */
  #pieces: readonly string[] | null = null;

  constructor(rest: Omit<JobRecord, 'job'>) {
    this.#rest = rest;
  }

  of(listed: ListedJob): string {
    if (listed.model !== this.#model) {
      this.#model = listed.model;
      this.#pieces = this.#cut(listed);
    }
    // A name needs no escapes.
    return this.#pieces === null ? this.#encode(listed.job) : this.#pieces.join(`"${listed.name}"`);
  }

  #cut({ model, isShort }: ListedJob): readonly string[] | null {
    const pieces = this.#encode(model).split(`"${model.name}"`);
    return pieces.length === (isShort ? NAMES_SHORT : NAMES_LONG) + 1 ? pieces : null;
  }

  #encode(job: Job): string {
    return jobCodec.encode({ job, ...this.#rest });
  }
}
