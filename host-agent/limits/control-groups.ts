import type { CgroupMount, Cgroups, CgroupValue } from '../../src/ports/cgroups.ts';
import { CgroupError } from '../../src/ports/cgroups.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import type { Enforced, Limited, LimitGroups, Limits, LimitsDriver, Usage } from './limits.ts';
import { LIMITED, NO_LIMITS, OUR_GROUP } from './limits.ts';
import { readUsage, valueOf } from './readings.ts';
import { V1_SETTINGS, V2_SETTINGS } from './settings.ts';

/** What v1 and v2 call the controller of each resource. */
const CONTROLLER: Readonly<Record<Limited, readonly [v1: string, v2: string]>> = {
  cpu: ['cpu', 'cpu'],
  memory: ['memory', 'memory'],
  pids: ['pids', 'pids'],
  io: ['blkio', 'io'],
  // In v2 it takes a program of the kernel's (BPF), which no file can be written for.
  devices: ['devices', ''],
};

/**
 * Into which a process with one thread writes itself. In v1 to move a thread needs no lock over all forks of the machine, for
 * which `cgroup.procs` waits some ten milliseconds; a shim has its task born in its group of v2
 * (`docs/decisions/limits-and-control-groups.md`).
 */
const JOIN_FILE = { 1: 'tasks', 2: 'cgroup.procs' } as const;

/** One hierarchy, and what it holds attempts to. */
interface Hierarchy {
  readonly version: 1 | 2;
  /** Our group in it. */
  readonly base: string;
  readonly controllers: readonly string[];
  readonly holds: readonly Limited[];
}

export interface LimitsOptions {
  /** Unique on this machine and the same after a restart of the agent; groups are named `<owner>.<attempt>`. */
  readonly owner: string;
  /** Group under which ours is made, in each hierarchy: '' for the root. */
  readonly parent: string;
  /** Limits of bytes a second are for the disk that it lies on. */
  readonly folder: string;
}

/**
 * Takes, for each resource, what the kernel gives: its controller in the unified hierarchy, else in one of v1; without
 * either the resource is not held. Where the unified hierarchy has no controllers every attempt is in it all the same: its
 * kill, freeze and events need none.
 */
export async function openLimits(cgroups: Cgroups, log: Log, options: LimitsOptions): Promise<LimitsDriver> {
  const mounts = [...(await cgroups.mounts())].sort((a, b) => b.version - a.version);
  const open: Limited[] = [...LIMITED];
  const hierarchies: Hierarchy[] = [];
  for (const mount of mounts) {
    const base = [mount.path, options.parent, OUR_GROUP].filter((part) => part !== '').join('/');
    const controllers = await useMount(cgroups, log, mount, { base, owner: options.owner });
    if (controllers === null) continue;
    const holds = open.filter((limited) =>
      controllers.includes(CONTROLLER[limited][mount.version - 1] ?? ''),
    );
    for (const limited of holds) open.splice(open.indexOf(limited), 1);
    if (holds.length > 0 || mount.version === 2 || controllers.some((name) => V1_READ.has(name)))
      hierarchies.push({ version: mount.version, base, controllers, holds });
  }
  if (hierarchies.length === 0) return NO_LIMITS;
  return new ControlGroups(cgroups, hierarchies, options, await cgroups.deviceOf(options.folder));
}

/** Of v1, also these: what is used, and the freezer. */
const V1_READ = new Set(['cpuacct', 'freezer']);

/** @returns the controllers that our groups have there; null when it is not ours to use */
async function useMount(
  cgroups: Cgroups,
  log: Log,
  mount: CgroupMount,
  { base, owner }: { readonly base: string; readonly owner: string },
): Promise<readonly string[] | null> {
  try {
    // Ours may be another's: made by an agent with more rights on this machine.
    const own = `${base}/${owner}.try`;
    await cgroups.make(own);
    await cgroups.remove(own);
    if (mount.version === 1) return mount.controllers;
    for (const controller of mount.controllers) await enable(cgroups, mount.path, base, controller);
    return words((await cgroups.read(`${base}/cgroup.subtree_control`)) ?? '');
  } catch (error) {
    if (!(error instanceof CgroupError)) throw error;
    log.warn({ error: error.message }, 'cannot use this hierarchy of control groups');
    return null;
  }
}

/** A group has a controller when all groups above it hand it down. One that is not handed down leaves the others. */
async function enable(cgroups: Cgroups, root: string, base: string, controller: string): Promise<void> {
  const below = base
    .slice(root.length)
    .split('/')
    .filter((part) => part !== '');
  for (let depth = 0; depth <= below.length; depth++) {
    const group = [root, ...below.slice(0, depth)].join('/');
    const file = `${group}/cgroup.subtree_control`;
    if (words((await cgroups.read(file)) ?? '').includes(controller)) continue;
    try {
      await cgroups.write(file, `+${controller}`);
    } catch (error) {
      if (error instanceof CgroupError) return;
      throw error;
    }
  }
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

class ControlGroups implements LimitsDriver {
  readonly enforced: Readonly<Record<Limited, Enforced>>;
  readonly #cgroups: Cgroups;
  readonly #hierarchies: readonly Hierarchy[];
  readonly #owner: string;
  readonly #parent: string;
  readonly #device: string | null;
  readonly #unified: Hierarchy | undefined;
  readonly #freezer: Hierarchy | undefined;

  constructor(
    cgroups: Cgroups,
    hierarchies: readonly Hierarchy[],
    { owner, parent }: LimitsOptions,
    device: string | null,
  ) {
    this.#cgroups = cgroups;
    this.#hierarchies = hierarchies;
    this.#owner = owner;
    this.#parent = parent;
    this.#device = device;
    this.#unified = hierarchies.find((one) => one.version === 2);
    this.#freezer = hierarchies.find((one) => one.controllers.includes('freezer'));
    const how = (limited: Limited): Enforced => {
      const holder = hierarchies.find((one) => one.holds.includes(limited));
      if (holder === undefined || (limited === 'io' && device === null)) return 'none';
      return holder.version === 2 ? 'v2' : 'v1';
    };
    this.enforced = {
      cpu: how('cpu'),
      memory: how('memory'),
      pids: how('pids'),
      io: how('io'),
      devices: how('devices'),
    };
  }

  async create(attempt: string, limits: Limits): Promise<LimitGroups> {
    const made = this.#hierarchies.map((hierarchy) =>
      this.#cgroups.make(this.#group(hierarchy, attempt), this.#settings(hierarchy, limits)),
    );
    // All are over before it is known: what is retried must not meet what was left under way.
    for (const one of await Promise.allSettled(made)) if (one.status === 'rejected') throw one.reason;
    return this.#groupsOf(attempt);
  }

  #groupsOf(attempt: string): LimitGroups {
    const unified = this.#unified === undefined ? null : this.#group(this.#unified, attempt);
    const freezer = this.#freezer === undefined ? null : this.#group(this.#freezer, attempt);
    const state = freezer === null ? null : `${freezer}/freezer.state`;
    return {
      path: `/${[this.#parent, OUR_GROUP, `${this.#owner}.${attempt}`].filter(Boolean).join('/')}`,
      procs: this.#hierarchies.map((one) => `${this.#group(one, attempt)}/${JOIN_FILE[one.version]}`),
      killFile: unified === null ? null : `${unified}/cgroup.kill`,
      freezer,
      freezeFile: unified === null ? state : `${unified}/cgroup.freeze`,
      oomFile: this.#oomFile(attempt),
    };
  }

  #oomFile(attempt: string): string | null {
    const holder = this.#hierarchies.find((one) => one.holds.includes('memory'));
    if (holder === undefined) return null;
    const file = holder.version === 2 ? 'memory.events' : 'memory.oom_control';
    return `${this.#group(holder, attempt)}/${file}`;
  }

  async update(attempt: string, limits: Limits): Promise<void> {
    for (const hierarchy of this.#hierarchies) {
      const refused: CgroupValue[] = [];
      for (const setting of this.#settings(hierarchy, limits))
        await this.#set(hierarchy, attempt, setting).catch((error: unknown) => {
          if (!(error instanceof CgroupError) || error.code !== 'refused') throw error;
          refused.push(setting);
        });
      // In v1 a memory limit may not pass that of memory and swap together: once the other is raised, it may.
      for (const setting of refused) await this.#set(hierarchy, attempt, setting);
    }
  }

  async stat(attempt: string): Promise<Usage> {
    const usage: Usage = {};
    for (const hierarchy of this.#hierarchies) {
      const group = this.#group(hierarchy, attempt);
      const read = (file: string): Promise<string | null> => this.#cgroups.read(`${group}/${file}`);
      Object.assign(usage, await readUsage(hierarchy.version, hierarchy.controllers, read));
    }
    return usage;
  }

  async oomKills(attempt: string): Promise<number> {
    const file = this.#oomFile(attempt);
    return file === null ? 0 : (valueOf(await this.#cgroups.read(file), 'oom_kill') ?? 0);
  }

  async kill(attempt: string): Promise<boolean> {
    if (this.#unified !== undefined && (await this.#write(this.#unified, attempt, 'cgroup.kill', '1')))
      return true;
    if (this.#freezer === undefined) return false;
    // Frozen, nothing forks while the list is read; killed, it dies when it is thawed.
    await this.#write(this.#freezer, attempt, 'freezer.state', 'FROZEN');
    await this.#cgroups.killListed(this.#group(this.#freezer, attempt));
    await this.#write(this.#freezer, attempt, 'freezer.state', 'THAWED');
    return true;
  }

  async freeze(attempt: string, on: boolean): Promise<void> {
    if (this.#unified !== undefined) {
      if (await this.#write(this.#unified, attempt, 'cgroup.freeze', on ? '1' : '0')) return;
    }
    if (this.#freezer !== undefined)
      await this.#write(this.#freezer, attempt, 'freezer.state', on ? 'FROZEN' : 'THAWED');
  }

  async populated(attempt: string): Promise<boolean> {
    if (this.#unified !== undefined) {
      const events = await this.#cgroups.read(`${this.#group(this.#unified, attempt)}/cgroup.events`);
      if (valueOf(events, 'populated') === 1) return true;
    }
    for (const hierarchy of this.#hierarchies) {
      const procs = await this.#cgroups.read(`${this.#group(hierarchy, attempt)}/cgroup.procs`);
      if ((procs ?? '').trim() !== '') return true;
    }
    return false;
  }

  async destroy(attempt: string): Promise<boolean> {
    const removed = this.#hierarchies.map((hierarchy) =>
      this.#cgroups.remove(this.#group(hierarchy, attempt)),
    );
    return (await Promise.all(removed)).every((one) => one === 'removed');
  }

  async list(): Promise<readonly string[]> {
    const found = new Set<string>();
    const prefix = `${this.#owner}.`;
    for (const { base } of this.#hierarchies)
      for (const name of await this.#cgroups.list(base))
        if (name.startsWith(prefix)) found.add(name.slice(prefix.length));
    return [...found].sort();
  }

  async foreignEmpty(): Promise<readonly string[]> {
    const empty = new Map<string, boolean>();
    for (const { base } of this.#hierarchies)
      for (const name of await this.#cgroups.list(base)) {
        if (name.startsWith(`${this.#owner}.`)) continue;
        const procs = await this.#cgroups.read(`${base}/${name}/cgroup.procs`);
        empty.set(name, empty.get(name) !== false && procs?.trim() === '');
      }
    return [...empty].filter(([, isEmpty]) => isEmpty).map(([name]) => name);
  }

  async removeForeign(name: string): Promise<boolean> {
    let gone = true;
    for (const { base } of this.#hierarchies)
      if ((await this.#cgroups.remove(`${base}/${name}`)) === 'busy') gone = false;
    return gone;
  }

  #settings(hierarchy: Hierarchy, limits: Limits): readonly CgroupValue[] {
    const table = hierarchy.version === 2 ? V2_SETTINGS : V1_SETTINGS;
    return hierarchy.holds.flatMap((limited) => table[limited](limits, this.#device));
  }

  async #set(hierarchy: Hierarchy, attempt: string, setting: CgroupValue): Promise<void> {
    const file = `${this.#group(hierarchy, attempt)}/${setting.file}`;
    try {
      await this.#cgroups.write(file, setting.text);
    } catch (error) {
      const lacks = error instanceof CgroupError && error.code === 'absent' && setting.mayLack === true;
      if (!lacks) throw error;
    }
  }

  /** @returns false when the group, or the file in it, is not there */
  async #write(hierarchy: Hierarchy, attempt: string, file: string, text: string): Promise<boolean> {
    try {
      await this.#cgroups.write(`${this.#group(hierarchy, attempt)}/${file}`, text);
      return true;
    } catch (error) {
      if (error instanceof CgroupError && error.code === 'absent') return false;
      throw error;
    }
  }

  #group(hierarchy: Hierarchy, attempt: string): string {
    return `${hierarchy.base}/${this.#owner}.${attempt}`;
  }
}
