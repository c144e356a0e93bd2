import { freeSpace } from '../../monitor/store/store.ts';
import { EtcdUpkeep } from '../../src/adapters/etcd/upkeep.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { mebibytes } from '../../src/wire/values/words.ts';
import { secureCellStore } from './secure.ts';
import type { StoreFlags } from './store-flags.ts';
import { storeOf } from './store-flags.ts';

const UP_MAX_MS = 10_000;
const UP_PAUSE_MS = 500;

/** Gives the store a user for each role of the cell, with that role's rights only. May be repeated. */
export async function secure(context: Context, options: StoreFlags): Promise<number> {
  const { etcd, cell, credentials } = storeOf(context, options, 'store secure');
  if (credentials === undefined)
    throw usageError(
      'a store knows its users by their certificates: --credentials FOLDER, of an operator',
      'moorage pki issue FOLDER --role operator --id NAME',
    );
  const { terminal } = context;
  const reach = { endpoints: etcd, cell, credentials };
  const { changes, otherRoots } = await onceUp(context, () =>
    storeWork(() => secureCellStore(reach, terminal.nowMs())),
  );
  for (const change of changes) terminal.out(`${change}\n`);
  terminal.out(
    `the store checks the rights of its users${changes.length === 0 ? '; nothing was to be changed' : ''}\n`,
  );
  if (otherRoots.length > 0)
    terminal.err(`not of Moorage, and may do everything: ${otherRoots.join(', ')}\n`);
  return EXIT.ok;
}

/** Drops the store's past, returns the free space of each member, and opens a full store again. */
export async function reopen(context: Context, options: StoreFlags): Promise<number> {
  const { etcd, credentials } = storeOf(context, options, 'store reopen');
  const upkeep = new EtcdUpkeep({ endpoints: etcd, credentials });
  try {
    const before = await storeWork(() => upkeep.measure());
    const after = await storeWork(() => freeSpace(upkeep, before.revision));
    context.terminal.out(
      `the store takes writes; its database had ${mebibytes(before.databaseBytes)}, and has ${mebibytes(after.databaseBytes)}\n`,
    );
    return EXIT.ok;
  } finally {
    await upkeep.close();
  }
}

/** A store that was started just before this command. */
async function onceUp<T>({ terminal }: Context, work: () => Promise<T>): Promise<T> {
  const deadlineMs = terminal.nowMs() + UP_MAX_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof StoreError && error.retryable;
      if (!isAway || terminal.nowMs() > deadlineMs) throw error;
      await terminal.sleep(UP_PAUSE_MS);
    }
  }
}

async function storeWork<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'denied') throw error;
    throw new CliError(
      EXIT.unreachable,
      `the store: ${error.message}`,
      'start its members with --client-cert-auth, and name the credentials of an operator',
      error,
    );
  }
}
