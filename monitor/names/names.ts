/**
 * The names of what runs, and who serves them: derived from the hosts' reports, the allocations' desired state and the hosts'
 * eligibility, which this monitor holds anyway. Nothing is written anywhere (docs/decisions/names.md).
 *
 * `name-readers.ts`: who follows which names. The rules are in `src/core/names`, the routes in `../api/name-routes.ts`.
 */
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Job } from '../../src/core/cell/job.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Endpoint, Instance } from '../../src/core/names/endpoints.ts';
import { endpointsOf, unreportedEndpoints } from '../../src/core/names/endpoints.ts';
import { NameTable } from '../../src/core/names/name-table.ts';
import type { ServiceName } from '../../src/core/names/names.ts';
import { jobKeyOfName, lackOf, nameText, namesOf, readName } from '../../src/core/names/names.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { ndjsonLine } from '../../src/core/json/ndjson.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import type { NameFrame } from '../../src/wire/api/names-api.ts';
import { NAMES_BEAT_MS } from '../../src/wire/api/names-api.ts';
import type { CellCopy } from '../view/view.ts';
import { NameReader, NameReaders } from './name-readers.ts';

export interface ServiceNamesDeps {
  readonly copy: CellCopy;
  readonly view: CellView;
  readonly clock: Clock;
}

const CHUNK_CHARS = 64 * 1024;

export class ServiceNames {
  readonly #deps: ServiceNamesDeps;
  readonly #table = new NameTable((name) => this.#changed(name));
  readonly #readers = new NameReaders();
  /** Of `name` frames: one that many read is made once. */
  readonly #lines = new Map<string, string>();
  readonly #stopBeat: () => void;

  constructor(deps: ServiceNamesDeps) {
    this.#deps = deps;
    this.#stopBeat = every(deps.clock, NAMES_BEAT_MS, () => this.#readers.wake());
  }

  close(): void {
    this.#stopBeat();
  }

  // --- what became known ------------------------------------------------------------------------------------------------

  reported(report: AllocationReport): void {
    if (Object.keys(report.ports).length > 0) this.#look(report, report.host);
  }

  gone(previous: AllocationReport): void {
    this.#table.set(previous, {});
  }

  /** An allocation's record is another one, or is not there any more. */
  placed(before: Allocation | undefined, now: Allocation | undefined): void {
    const allocation = now ?? before;
    if (allocation === undefined || Object.keys(allocation.ports).length === 0) return;
    this.#look(allocation, allocation.host);
  }

  /** What is known of the host is another thing: it fell silent or reports again, has another address, is lost or is not. */
  hostChanged(host: string): void {
    const { copy, view } = this.#deps;
    for (const report of view.on(host)) this.reported(report);
    for (const { value } of copy.allocationsByHost.of(host).values()) this.placed(undefined, value);
  }

  jobChanged(before: Job | undefined, now: Job | undefined): void {
    const [old, fresh] = [before, now].map(
      (job) => new Set(job === undefined ? [] : namesOf(job).map((name) => nameText(name))),
    );
    for (const name of old ?? []) if (fresh?.has(name) !== true) this.#changed(name);
    for (const name of fresh ?? []) if (old?.has(name) !== true) this.#changed(name);
  }

  /** The copy of the store was replaced as a whole. */
  replaced(): void {
    for (const { host } of this.#deps.view.hosts()) this.hostChanged(host);
    this.#lines.clear();
    this.#readers.noteAll();
  }

  completed(): void {
    this.#readers.wake();
  }

  // --- questions --------------------------------------------------------------------------------------------------------

  endpoints(name: ServiceName): readonly Endpoint[] {
    return this.#table.endpoints(nameText(name));
  }

  /** What of the name is not there; null: it is known, though nobody may serve it now. */
  lackOf(name: ServiceName): string | null {
    const record = this.#deps.copy.jobs.get(jobKeyOfName(name));
    const lack = lackOf(name, record?.value.job ?? null);
    // A port that the newest version has no more is served until the last old instance ends.
    return lack !== null && this.endpoints(name).length > 0 ? null : lack;
  }

  /** Each name of the jobs that are to run, and each that has endpoints. */
  *known(): IterableIterator<ServiceName> {
    const seen = new Set<string>();
    for (const [, { value }] of this.#deps.copy.jobs.rows())
      for (const name of value.desired === 'run' ? namesOf(value.job) : []) {
        seen.add(nameText(name));
        yield name;
      }
    for (const text of this.#table.names()) {
      const name = seen.has(text) ? null : readName(text);
      if (name !== null) yield name;
    }
  }

  /**
   * Lines of `NameFrame`.
   * @param names null: all that `sees` says
   */
  async *read(
    names: ReadonlySet<string> | null,
    sees: (namespace: string) => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    const reader = new NameReader((text) => sees(readName(text)?.namespace ?? ''));
    this.#readers.add(reader, names);
    try {
      yield this.#viewLine(false);
      // A monitor that does not know all hosts yet would take endpoints away that another one has told of.
      while (!this.#deps.view.complete && !signal.aborted) {
        await reader.wait(signal);
        yield this.#viewLine(false);
      }
      for (const name of names ?? this.#table.names()) reader.note(name);
      while (!signal.aborted) {
        let text = '';
        for (const name of reader.take()) {
          text += this.#lineOf(name);
          if (text.length < CHUNK_CHARS) continue;
          yield text;
          text = '';
        }
        yield text + this.#viewLine(true);
        await reader.wait(signal);
      }
    } finally {
      this.#readers.delete(reader, names);
    }
  }

  // ----------------------------------------------------------------------------------------------------------------------

  #look(instance: Instance, host: string): void {
    const { copy, view } = this.#deps;
    const record = copy.hosts.get(host)?.value;
    const isLost = copy.eligibility.get(host)?.value.state === 'lost';
    const { namespace, job, id } = instance;
    const allocation = copy.allocations.get(`${namespace}/${job}/${id}`)?.value;
    const isToEnd =
      allocation !== undefined && allocation.desired !== 'run' && allocation.yields === undefined;
    if (record === undefined || isLost || isToEnd) return this.#table.set(instance, {});
    const report = view.get(host, id);
    const freshness = view.host(host);
    const at = { address: record.address, staleSinceMs: freshness?.staleSinceMs ?? null };
    if (report !== undefined) return this.#table.set(instance, endpointsOf(report, at));
    // A host that has never reported here may well run it: another monitor may know.
    const isUnheard = allocation !== undefined && freshness?.asOfMs === null && at.staleSinceMs !== null;
    this.#table.set(instance, isUnheard ? unreportedEndpoints(allocation, at) : {});
  }

  #changed(name: string): void {
    this.#lines.delete(name);
    this.#readers.note(name);
  }

  #lineOf(text: string): string {
    const known = this.#lines.get(text);
    if (known !== undefined) return known;
    const name = readName(text);
    const frame: NameFrame = {
      kind: 'name',
      name: text,
      known: name !== null && this.lackOf(name) === null,
      endpoints: this.#table.endpoints(text),
    };
    const line = ndjsonLine(frame);
    this.#lines.set(text, line);
    return line;
  }

  #viewLine(synced: boolean): string {
    const frame: NameFrame = { kind: 'view', complete: this.#deps.view.complete, synced };
    return ndjsonLine(frame);
  }
}
