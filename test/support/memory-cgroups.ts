import type { CgroupMount, Cgroups, CgroupValue } from '../../src/ports/cgroups.ts';
import { CgroupError } from '../../src/ports/cgroups.ts';

/** Control groups as files in memory. A group that is made has the files that its hierarchy's controllers give it. */
export class MemoryCgroups implements Cgroups {
  readonly files = new Map<string, string>();
  readonly groups = new Set<string>();
  /** Groups in which something runs. */
  readonly busy = new Set<string>();
  readonly denied: string[] = [];
  device: string | null = '8:0';
  /** As `/proc/pressure/memory`; null: this kernel has none. */
  memoryPressure: string | null = null;
  readonly #mounts: readonly CgroupMount[];
  readonly #filesOf: (mount: CgroupMount) => readonly string[];

  constructor(mounts: readonly CgroupMount[], filesOf: (mount: CgroupMount) => readonly string[]) {
    this.#mounts = mounts;
    this.#filesOf = filesOf;
    for (const mount of mounts) this.#make(mount.path);
  }

  async mounts(): Promise<readonly CgroupMount[]> {
    return this.#mounts;
  }

  async make(group: string, values: readonly CgroupValue[] = []): Promise<void> {
    this.#check(group);
    const mount = this.#mounts.find((one) => group.startsWith(`${one.path}/`));
    if (mount === undefined) throw new CgroupError('absent', group);
    const names = group.slice(mount.path.length + 1).split('/');
    for (let i = 1; i <= names.length; i++) this.#make([mount.path, ...names.slice(0, i)].join('/'));
    for (const { file, text, mayLack } of values) {
      const path = `${group}/${file}`;
      if (mayLack !== true || this.files.has(path)) await this.write(path, text);
    }
  }

  async remove(group: string): Promise<'removed' | 'busy'> {
    if (this.busy.has(group)) return 'busy';
    this.groups.delete(group);
    for (const file of [...this.files.keys()]) if (file.startsWith(`${group}/`)) this.files.delete(file);
    return 'removed';
  }

  async list(group: string): Promise<readonly string[]> {
    return [...this.groups]
      .filter((one) => one.startsWith(`${group}/`))
      .map((one) => one.slice(group.length + 1))
      .filter((name) => !name.includes('/'));
  }

  async pressure(): Promise<string | null> {
    return this.memoryPressure;
  }

  async read(file: string): Promise<string | null> {
    return this.files.get(file) ?? null;
  }

  async write(file: string, text: string): Promise<void> {
    this.#check(file);
    if (!this.files.has(file)) throw new CgroupError('absent', file);
    const enabled = file.endsWith('subtree_control')
      ? `${this.files.get(file) ?? ''} ${text.slice(1)}`
      : text;
    this.files.set(file, enabled.trim());
  }

  async killListed(group: string): Promise<number> {
    return this.busy.delete(group) ? 1 : 0;
  }

  async deviceOf(): Promise<string | null> {
    return this.device;
  }

  #make(group: string): void {
    const mount = this.#mounts.find((one) => group === one.path || group.startsWith(`${one.path}/`));
    if (mount === undefined || this.groups.has(group)) return;
    this.groups.add(group);
    for (const name of ['cgroup.procs', 'tasks', ...this.#filesOf(mount)])
      this.files.set(`${group}/${name}`, '');
  }

  #check(path: string): void {
    if (this.denied.some((one) => path.startsWith(one))) throw new CgroupError('denied', path);
  }
}
