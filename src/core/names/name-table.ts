import type { Endpoint, Instance } from './endpoints.ts';
import { nameText } from './names.ts';

/** One instance, with its endpoints by port label. */
interface Candidate {
  readonly instance: Instance;
  readonly endpoints: Readonly<Record<string, Endpoint>>;
}

/**
 * The endpoints of every name. A slot (job, group, index) has one endpoint of each port at most, that of its newest instance
 * that serves: while an old one and its replacement are both reported, as after the return of a lost host, the old one is not
 * in its names beside the new one. A change costs what the slot has, whatever the size of the job.
 */
export class NameTable {
  readonly #onChange: (name: string) => void;
  /** By slot and allocation. */
  readonly #slots = new Map<string, Map<string, Candidate>>();
  /** By name and index. */
  readonly #names = new Map<string, Map<number, Endpoint>>();

  /** @param onChange called with each name whose endpoints are others now */
  constructor(onChange: (name: string) => void) {
    this.#onChange = onChange;
  }

  /** What the instance serves now. @param endpoints by port label; empty: nothing */
  set(instance: Instance, endpoints: Candidate['endpoints']): void {
    const key = slotKeyOf(instance);
    const slot = this.#slots.get(key);
    const before = newestOf(slot);
    if (Object.keys(endpoints).length > 0) {
      const candidates = slot ?? new Map<string, Candidate>();
      candidates.set(instance.id, { instance, endpoints });
      this.#slots.set(key, candidates);
    } else if (slot?.delete(instance.id) === true && slot.size === 0) this.#slots.delete(key);
    this.#turn(instance, before?.endpoints ?? {}, newestOf(this.#slots.get(key))?.endpoints ?? {});
  }

  /** Ordered by index. */
  endpoints(name: string): readonly Endpoint[] {
    return [...(this.#names.get(name)?.values() ?? [])].sort((a, b) => a.index - b.index);
  }

  /** Those that have endpoints. */
  names(): IterableIterator<string> {
    return this.#names.keys();
  }

  #turn(slot: Instance, before: Candidate['endpoints'], now: Candidate['endpoints']): void {
    const { group, job, namespace, index } = slot;
    for (const port of new Set([...Object.keys(before), ...Object.keys(now)])) {
      const endpoint = now[port];
      if (isSame(before[port], endpoint)) continue;
      const name = nameText({ port, group, job, namespace });
      const endpoints = this.#names.get(name) ?? new Map<number, Endpoint>();
      if (endpoint === undefined) endpoints.delete(index);
      else endpoints.set(index, endpoint);
      if (endpoints.size === 0) this.#names.delete(name);
      else this.#names.set(name, endpoints);
      this.#onChange(name);
    }
  }
}

function slotKeyOf({ namespace, job, group, index }: Instance): string {
  return `${namespace}/${job}/${group}/${String(index)}`;
}

/** A newer version wins, then a later attempt; ids of one attempt sort by time. */
function newestOf(slot: ReadonlyMap<string, Candidate> | undefined): Candidate | undefined {
  let newest: Candidate | undefined;
  for (const candidate of slot?.values() ?? [])
    if (newest === undefined || isNewer(candidate.instance, newest.instance)) newest = candidate;
  return newest;
}

function isNewer(a: Instance, b: Instance): boolean {
  if (a.jobVersion !== b.jobVersion) return a.jobVersion > b.jobVersion;
  return a.attempt === b.attempt ? a.id > b.id : a.attempt > b.attempt;
}

function isSame(a: Endpoint | undefined, b: Endpoint | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.allocation === b.allocation &&
    a.address === b.address &&
    a.port === b.port &&
    a.staleSinceMs === b.staleSinceMs
  );
}
