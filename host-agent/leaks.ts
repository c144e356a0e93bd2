import { parseAttemptName } from '../src/wire/shim-files.ts';
import { attemptFolder } from './attempt.ts';
import type { Desk } from './desk.ts';
import type { Leases } from './leases.ts';

/** With more than this many that do not go away, the host takes no new work: it would only lose more. */
export const LEAKS_MAX = 8;

type LeakKind = 'groups' | 'attempt' | 'allocation' | 'lease' | 'address' | 'temporary' | 'fetch';

interface Leak {
  readonly kind: LeakKind;
  /** Of the attempt, allocation, port or file. */
  readonly name: string;
}

const TEMPORARY = '.tmp-';

/**
 * Finds what is left on this host of things that are no longer there, by comparing what lies on disk and in the kernel
 * with what should. What is seen twice is taken away; what cannot be is counted, and too much of it closes the host for
 * newcomers until it is gone (S3.12, S3.57). Looks only at what carries this host's own name or lies in its folder.
 */
export class LeakWatch {
  readonly #desk: Desk;
  #seen = new Set<string>();
  /** Seen again after it was to be taken away. */
  #stuck = 0;
  #looking: Promise<void> | null = null;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** How many there are that do not go away. */
  get stuck(): number {
    return this.#stuck;
  }

  get isClosed(): boolean {
    return this.#stuck > LEAKS_MAX;
  }

  /** One comparison; never throws. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#desk.ports.log.warn({ error }, 'cannot look for what leaked'))
      .finally(() => (this.#looking = null));
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { log, metrics } = this.#desk.ports;
    await this.#desk.lent.forgetRested();
    const leaks = await findLeaks(this.#desk);
    const seen = new Set<string>();
    let stuck = 0;
    for (const leak of leaks) {
      const key = `${leak.kind} ${leak.name}`;
      // The first time it may be on its way: made or taken away just now.
      if (!this.#seen.has(key)) {
        seen.add(key);
        continue;
      }
      metrics.count('moorage_host_leaks_total', { kind: leak.kind });
      log.warn({ leak: leak.kind, name: leak.name }, 'left behind, and taken away');
      if (await clean(this.#desk, leak).catch(() => false)) continue;
      seen.add(key);
      stuck += 1;
    }
    if (stuck > LEAKS_MAX !== this.isClosed)
      log.error({ leaks: stuck }, stuck > LEAKS_MAX ? 'leaks: no new work here' : 'clean again');
    this.#seen = seen;
    this.#stuck = stuck;
    metrics.gauge('moorage_host_leaks', stuck);
  }
}

async function findLeaks(desk: Desk): Promise<readonly Leak[]> {
  const [attempts, allocations, ports, addresses, temporaries] = [
    await desk.ports.disk.list('attempts'),
    await desk.ports.disk.list('allocations'),
    await desk.lent.ports.all(),
    await desk.lent.addresses.all(),
    (await desk.ports.disk.list('')).filter((name) => name.startsWith(TEMPORARY)),
  ];
  const left = (await desk.ports.tools.scan()).filter((name) => !mayHaveGroups(desk, name));
  return [
    ...left.map((name): Leak => ({ kind: 'groups', name })),
    ...attempts.filter((name) => !isKept(desk, name)).map((name): Leak => ({ kind: 'attempt', name })),
    ...allocations.filter((id) => !isKnown(desk, id)).map((name): Leak => ({ kind: 'allocation', name })),
    ...unheld(desk, 'lease', ports),
    ...unheld(desk, 'address', addresses),
    ...temporaries.map((name): Leak => ({ kind: 'temporary', name })),
    ...(await desk.ports.tools.strayFiles()).map((name): Leak => ({ kind: 'fetch', name })),
  ];
}

function unheld(desk: Desk, kind: LeakKind, leases: ReadonlyMap<string, string>): readonly Leak[] {
  return [...leases].filter(([, holder]) => !holdsPorts(desk, holder)).map(([name]) => ({ kind, name }));
}

function isKnown({ table, orphans }: Desk, id: string): boolean {
  return table.get(id) !== undefined || orphans.ids.includes(id);
}

function holdsPorts(desk: Desk, id: string): boolean {
  return isKnown(desk, id) && desk.table.get(id)?.isReleased !== true;
}

/** What is running or ending may have groups; what is released has none. */
function mayHaveGroups(desk: Desk, name: string): boolean {
  const id = parseAttemptName(name)?.allocation;
  return id !== undefined && holdsPorts(desk, id);
}

function isKept(desk: Desk, name: string): boolean {
  const parts = parseAttemptName(name);
  if (parts === null) return false;
  const run = desk.table.get(parts.allocation);
  if (run === undefined) return isKnown(desk, parts.allocation);
  const task = run.tasks.find((one) => one.task.name === parts.task);
  return task === undefined || parts.number > task.attemptNumber - desk.settings.attemptsKept;
}

/** @returns whether it is gone */
async function clean(desk: Desk, { kind, name }: Leak): Promise<boolean> {
  const { disk, processes, tools } = desk.ports;
  const { lent } = desk;
  switch (kind) {
    case 'groups':
      await tools.limits.kill(name);
      return tools.cleanup(name);
    case 'attempt':
      if (parseAttemptName(name) !== null) {
        await processes.killTree(name);
        if ((await processes.killLeftovers(name)) > 0 || !(await tools.cleanup(name))) return false;
      }
      await disk.remove(attemptFolder(name));
      return true;
    case 'allocation':
      await disk.remove(`allocations/${name}`);
      return true;
    case 'lease': {
      if ((await processes.portsInUse([Number(name)])).length > 0) return false;
      await freeStray(lent.ports, name);
      return true;
    }
    case 'address':
      await freeStray(lent.addresses, name);
      return true;
    case 'temporary':
      await disk.remove(name);
      return true;
    case 'fetch':
      await tools.removeStray(name);
      return true;
  }
}

async function freeStray(leases: Leases, name: string): Promise<void> {
  await leases.free((await leases.holderOf(name)) ?? '', [name], NOBODY);
}

/** Whose it was is not known, so nobody may have it before it has rested. */
const NOBODY = '';
