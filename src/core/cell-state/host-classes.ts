import { attributeOf, hasDriver } from '../host/attributes.ts';
import type { Host } from '../host/host.ts';

/** Hosts with equal values of every attribute in use: what holds for one of them holds for all. */
export interface HostClass {
  /** Any host of the class. */
  readonly example: Host;
  /** Indices of its hosts, in no order. */
  readonly hosts: number[];
}

/** Beyond so many attributes the division restarts with those of the latest request. */
const ATTRIBUTES_MAX = 64;
/** Empty classes beyond which all classes are rebuilt. */
const CLASSES_SPARE = 1024;

/**
 * Divides the hosts into classes by the attributes that requests have used so far: a unique serial number of each host
 * divides nothing until a request names it.
 */
export class HostClasses {
  readonly #attributes = new Set<string>();
  readonly #bySignature = new Map<string, number>();
  readonly #hosts: (Host | undefined)[] = [];
  /** The position of each host in its class's list. */
  readonly #places: number[] = [];
  #classOf = new Int32Array(16).fill(-1);
  #classes: HostClass[] = [];
  #version = 0;

  /** Class number by host index. Read only. */
  get classOf(): Int32Array {
    return this.#classOf;
  }

  get classes(): readonly HostClass[] {
    return this.#classes;
  }

  /** Changes whenever something that a caller keeps by class may be wrong or incomplete. */
  get version(): number {
    return this.#version;
  }

  /** Puts a host into its class, or moves it when its attributes have changed. */
  set(index: number, host: Host): void {
    this.#grow(index);
    this.#hosts[index] = host;
    // Hosts whose attributes keep changing leave empty classes.
    if (this.#classes.length > 2 * this.#hosts.length + CLASSES_SPARE) this.#redivide();
    const found = this.#classFor(host);
    if (found === this.#classOf[index]) return;
    this.#leave(index);
    this.#join(index, found);
    this.#version += 1;
  }

  remove(index: number): void {
    this.#leave(index);
    this.#hosts[index] = undefined;
    this.#version += 1;
  }

  /** Moves a host from one index to another. */
  move(from: number, to: number): void {
    this.#grow(to);
    const number = this.#classOf[from] ?? -1;
    const place = this.#places[from] ?? 0;
    this.#hosts[to] = this.#hosts[from];
    this.#hosts[from] = undefined;
    this.#classOf[to] = number;
    this.#classOf[from] = -1;
    this.#places[to] = place;
    const hosts = this.#classes[number]?.hosts;
    if (hosts !== undefined) hosts[place] = to;
    this.#version += 1;
  }

  /** Hosts have changed places within their class, by `set`: whoever keeps something by index must learn of it. */
  reordered(): void {
    this.#version += 1;
  }

  /** Makes the hosts of one class equal in these attributes (`id` is never tested by class). */
  divideBy(attributes: readonly string[]): void {
    const fresh = attributes.filter((name) => name !== 'id' && !this.#attributes.has(name));
    if (fresh.length === 0) return;
    if (this.#attributes.size + fresh.length > ATTRIBUTES_MAX) {
      this.#attributes.clear();
      for (const name of attributes) this.#attributes.add(name);
    }
    for (const name of fresh) this.#attributes.add(name);
    this.#redivide();
  }

  #redivide(): void {
    this.#bySignature.clear();
    this.#classes = [];
    this.#classOf.fill(-1);
    for (const [index, host] of this.#hosts.entries()) {
      if (host !== undefined) this.#join(index, this.#classFor(host));
    }
    this.#version += 1;
  }

  #classFor(host: Host): number {
    let signature = hasDriver(host) ? '+' : '-';
    for (const name of this.#attributes) signature += `\n${attributeOf(host, name) ?? '\t'}`;
    let found = this.#bySignature.get(signature);
    if (found === undefined) {
      found = this.#classes.length;
      this.#bySignature.set(signature, found);
      this.#classes.push({ example: host, hosts: [] });
    }
    return found;
  }

  #join(index: number, found: number): void {
    const hosts = this.#classes[found]?.hosts;
    if (hosts === undefined) throw new Error(`no host class ${String(found)}`);
    this.#classOf[index] = found;
    this.#places[index] = hosts.length;
    hosts.push(index);
  }

  #leave(index: number): void {
    const hosts = this.#classes[this.#classOf[index] ?? -1]?.hosts;
    const last = hosts?.pop();
    if (hosts === undefined || last === undefined) return;
    const place = this.#places[index] ?? 0;
    if (last !== index) {
      hosts[place] = last;
      this.#places[last] = place;
    }
    this.#classOf[index] = -1;
  }

  #grow(index: number): void {
    if (index < this.#classOf.length) return;
    const wider = new Int32Array(2 * this.#classOf.length).fill(-1);
    wider.set(this.#classOf);
    this.#classOf = wider;
    this.#grow(index);
  }
}
