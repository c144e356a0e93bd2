import { randomBytes, randomUUID } from 'node:crypto';
import { errorText } from '../../src/core/errors/errors.ts';
import type { BareToken } from '../../src/core/access/invitation.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { BootstrapHost, BootstrapState } from '../../src/wire/join/bootstrap-file.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { BareHost } from './bare-hosts.ts';
import { layoutOf } from './layout.ts';

/** Says what there is to do, and does nothing of it. */
export function showPlan(
  { terminal }: Context,
  known: BootstrapState | null,
  tokens: readonly BareToken[],
  cell: string,
): number {
  const tasks = known?.tasks ?? layoutOf(tokens.map(({ host }) => host));
  const hosts =
    known?.hosts.map(({ id, url }) => ({ id, url })) ??
    tokens.map(({ host, monitors: [url = ''] }) => ({ id: host, url }));
  terminal.out(known === null ? `makes the authority of cell ${cell}\n` : `goes on with cell ${cell}\n`);
  for (const { id, url } of hosts) {
    terminal.out(`host ${id} at ${url}: an agent, unless it runs\n`);
    for (const { name } of tasks.filter(({ host }) => host === id))
      terminal.out(`  ${name}, unless it runs\n`);
  }
  terminal.out('nothing was done: this was a dry run\n');
  return EXIT.ok;
}

/** Asks every machine once, so that the commands of the tasks are known. @throws CliError */
export async function makePlan(
  { terminal }: Context,
  tokens: readonly BareToken[],
  cell: string,
): Promise<BootstrapState> {
  const nowMs = terminal.nowMs();
  const tasks = layoutOf(tokens.map(({ host }) => host)).map((task) => ({
    ...task,
    allocation: makeId(nowMs, randomBytes(16)),
  }));
  const hosts = await Promise.all(
    tokens.map(async (token): Promise<BootstrapHost> => {
      const {
        host,
        monitors: [url = ''],
      } = token;
      const own = tasks.filter((task) => task.host === host);
      try {
        const bare = await BareHost.at(token);
        const { program, etcd, data } = await bare.keys(own.map(({ role, id }) => `${role}-${id}`));
        if (etcd === null && own.some(({ role }) => role === 'etcd'))
          throw usageError(
            `there is no etcd on ${host}`,
            'apt-get install etcd-server, or MOORAGE_ETCD=PATH for its agent',
          );
        return { id: host, url, program, etcd, data };
      } catch (error) {
        if (error instanceof CliError) throw error;
        const why = errorText(error);
        throw new CliError(
          EXIT.unreachable,
          `${host} at ${url}: ${why}`,
          'moorage agent --bare, there; or leave it out',
          error,
        );
      }
    }),
  );
  return { cell, incarnation: randomUUID(), hosts, tasks };
}
