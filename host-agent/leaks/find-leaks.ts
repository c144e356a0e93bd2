import { parseAttemptName } from '../../src/wire/host-files/attempt-files.ts';
import { removeAttempt } from '../tasks/attempt.ts';
import type { AgentContext } from '../agent-context.ts';
import type { LeaseStore } from '../leases/lease-store.ts';

type LeakKind =
  | 'groups'
  | 'foreign-groups'
  | 'processes'
  | 'attempt'
  | 'allocation'
  | 'lease'
  | 'address'
  | 'user'
  | 'ids'
  | 'temporary'
  | 'event'
  | 'fetch'
  | 'attachment';

/** One thing that was left behind. */
export interface Leak {
  readonly kind: LeakKind;
  /** Of the attempt, allocation, port, group or file. */
  readonly name: string;
  /** Whose processes they are. */
  readonly stateId?: string;
  /** How long it must have been seen before it is taken away; absent: twice is enough. */
  readonly afterMs?: number;
}

const TEMPORARY = '.tmp-';
const EVENTS = 'events';

/** What is there, and should not be. */
export async function findLeaks(context: AgentContext): Promise<readonly Leak[]> {
  const [attempts, allocations, ports, addresses, users, ids, temporaries, events] = [
    await context.ports.disk.list('attempts'),
    await context.ports.disk.list('allocations'),
    await context.leases.ports.all(),
    await context.leases.addresses.all(),
    (await context.leases.users?.store.all()) ?? new Map<string, string>(),
    (await context.leases.ids?.store.all()) ?? new Map<string, string>(),
    (await context.ports.disk.list('')).filter((name) => name.startsWith(TEMPORARY)),
    // There for an instant, unless a shim died in it.
    (await context.ports.disk.list(EVENTS)).filter((name) => !name.startsWith('.')),
  ];
  const { limits } = context.ports.tools;
  const afterMs = context.settings.desertedMs;
  const left = (await context.ports.tools.scan()).filter((name) => !mayHaveGroups(context, name));
  return [
    ...left.map((name): Leak => ({ kind: 'groups', name })),
    ...(await limits.foreignEmpty()).map((name): Leak => ({ kind: 'foreign-groups', name, afterMs })),
    ...(await unknownProcesses(context)),
    ...attempts.filter((name) => !isKept(context, name)).map((name): Leak => ({ kind: 'attempt', name })),
    ...allocations.filter((id) => !isKnown(context, id)).map((name): Leak => ({ kind: 'allocation', name })),
    ...unheld(context, 'lease', ports),
    ...unheld(context, 'address', addresses),
    ...unheld(context, 'user', users),
    ...unheld(context, 'ids', ids),
    ...temporaries.map((name): Leak => ({ kind: 'temporary', name })),
    ...events.map((name): Leak => ({ kind: 'event', name })),
    ...(await strayAttachments(context)),
    ...(await context.ports.tools.strayFiles()).map((name): Leak => ({ kind: 'fetch', name })),
  ];
}

async function strayAttachments(context: AgentContext): Promise<readonly Leak[]> {
  const all = (await context.ports.tools.attachments?.all()) ?? [];
  return all
    .filter(({ allocation }) => !holdsPorts(context, allocation))
    .map(({ name }): Leak => ({ kind: 'attachment', name }));
}

/** Of ours what no live attempt owns; of others' what has lost the folder that it belongs to. */
async function unknownProcesses(context: AgentContext): Promise<readonly Leak[]> {
  const marked = await context.ports.processes.marked();
  return marked
    .filter(({ stateId, attempt, deserted }) =>
      stateId === context.settings.stateId ? !mayHaveProcesses(context, attempt) : deserted,
    )
    .map(({ stateId, attempt }): Leak => ({ kind: 'processes', name: attempt, stateId }));
}

/** Those of an earlier attempt are gone when the next one begins. */
function mayHaveProcesses(context: AgentContext, name: string): boolean {
  const parts = parseAttemptName(name);
  if (parts === null || !holdsPorts(context, parts.allocation)) return false;
  const task = context.table.get(parts.allocation)?.tasks.find((one) => one.task.name === parts.task);
  return task === undefined || parts.number >= task.attemptNumber;
}

function unheld(context: AgentContext, kind: LeakKind, leases: ReadonlyMap<string, string>): readonly Leak[] {
  return [...leases].filter(([, holder]) => !holdsPorts(context, holder)).map(([name]) => ({ kind, name }));
}

/**
 * An orphan may be asked for by whoever started it, but not one that was stopped or removed: nobody speaks of it again. An
 * order of an old epoch ends nothing (I17).
 */
function isKnown({ table, orphans, journal }: AgentContext, id: string): boolean {
  if (table.get(id) !== undefined) return true;
  return orphans.has(id) && (!journal.isFenced(id) || journal.refusalOf(id)?.code === 'epoch-old');
}

function holdsPorts(context: AgentContext, id: string): boolean {
  return isKnown(context, id) && context.table.get(id)?.isReleased !== true;
}

/** What is running or ending may have groups; what is released has none. */
function mayHaveGroups(context: AgentContext, name: string): boolean {
  const id = parseAttemptName(name)?.allocation;
  return id !== undefined && holdsPorts(context, id);
}

function isKept(context: AgentContext, name: string): boolean {
  const parts = parseAttemptName(name);
  if (parts === null) return false;
  const run = context.table.get(parts.allocation);
  if (run === undefined) return isKnown(context, parts.allocation);
  const task = run.tasks.find((one) => one.task.name === parts.task);
  return task === undefined || parts.number > task.attemptNumber - context.settings.attemptsKept;
}

/** Takes it away. @returns whether it is gone */
export async function clean(context: AgentContext, { kind, name, stateId }: Leak): Promise<boolean> {
  const { disk, processes, tools } = context.ports;
  const { leases: lent } = context;
  switch (kind) {
    case 'groups':
      await tools.limits.kill(name);
      return tools.cleanup(name);
    case 'foreign-groups':
      return tools.limits.removeForeign(name);
    case 'processes':
      return (await processes.killMarked(stateId ?? '', name)) === 0;
    case 'attempt': {
      const parts = parseAttemptName(name);
      if (parts !== null) {
        // Its shim must have ended too: it would wait for ever for a folder that is gone.
        if (await processes.killTree(name)) return false;
        if ((await processes.killLeftovers(name)) > 0 || !(await tools.cleanup(name))) return false;
      }
      await removeAttempt(disk, name);
      if (parts !== null) context.orphans.take(parts.allocation);
      return true;
    }
    case 'allocation':
      await disk.remove(`allocations/${name}`);
      return true;
    case 'lease': {
      if ((await processes.portsInUse([Number(name)])).length > 0) return false;
      await freeStray(lent.ports, name);
      return true;
    }
    case 'address':
      if ((await processes.addressesInUse([name])).length > 0) return false;
      await freeStray(lent.addresses, name);
      return true;
    case 'user':
      await lent.users?.free((await lent.users.store.holderOf(name)) ?? '', Number(name));
      return true;
    case 'ids': {
      const holder = (await lent.ids?.store.holderOf(name)) ?? '';
      // Files of these ids may lie there.
      if (!context.table.get(holder) && (await disk.list('allocations')).includes(holder)) return false;
      await lent.ids?.free(holder, Number(name));
      return true;
    }
    case 'temporary':
      await disk.remove(name);
      return true;
    case 'event':
      await disk.remove(`${EVENTS}/${name}`);
      return true;
    case 'attachment':
      return (await tools.attachments?.detachStray(name)) ?? true;
    case 'fetch':
      await tools.removeStray(name);
      return true;
  }
}

async function freeStray(leases: LeaseStore, name: string): Promise<void> {
  await leases.free((await leases.holderOf(name)) ?? '', [name], NOBODY);
}

/** Whose it was is not known, so nobody may have it before it has rested. */
const NOBODY = '';
