import { randomUUID } from 'node:crypto';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { openMeta } from '../../src/runtime/records/cell-meta.ts';
import { CliError, EXIT } from '../command/exit.ts';
import type { Terminal } from '../command/terminal.ts';
import type { RoleBasics } from './options.ts';

/** How long a role that cannot work without the store waits for it at its start; a supervisor may try again then. */
const DEADLINE_MS = 10_000;
const RETRY_MS = 500;

/**
 * Asks the store once before a role starts: a wrong address, a server that is too old or a cell of another schema ends the
 * start with one line, instead of a role that waits for ever.
 *
 * @param needed false: an agent starts without its store too, since its tasks must not wait for etcd (I16)
 * @throws CliError, SchemaError
 */
export async function probeStore(terminal: Terminal, basics: RoleBasics, needed: boolean): Promise<void> {
  const { credentials } = basics.reach;
  const store = new EtcdCellStore({
    ...{ endpoints: basics.etcd, credentials, clock: systemClock, log: basics.log },
  });
  const startMs = terminal.nowMs();
  try {
    for (;;) {
      try {
        const { version } = await store.checkServer();
        if (isTooOld(version)) throw tooOld(version);
        await openMeta(store, cellKeys(basics.cell), { nowMs: terminal.nowMs(), makeUuid: randomUUID });
        return;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (error.code === 'denied' && needed) throw error;
        const where = basics.etcd.join(', ');
        if (!needed) {
          basics.log.warn({ etcd: where, reason: error.message }, 'the store does not answer yet');
          return;
        }
        if (terminal.nowMs() - startMs > DEADLINE_MS) throw unreachable(where, error);
        await terminal.sleep(RETRY_MS);
      }
    }
  } finally {
    await store.close();
  }
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 3 || (major === 3 && minor < 4);
}

function tooOld(version: string): CliError {
  return new CliError(
    EXIT.unreachable,
    `the store is etcd ${version}; 3.4 is the oldest that can work`,
    'run a later etcd, and name it with --etcd',
  );
}

function unreachable(where: string, error: StoreError): CliError {
  return new CliError(
    EXIT.unreachable,
    `no etcd answers at ${where}: ${error.message}`,
    'start etcd, or name another with --etcd',
    error,
  );
}
