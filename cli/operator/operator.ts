/**
 * Verbs with which an operator looks after the cell's store and keys. `check` and `restored` talk to etcd, not to a monitor.
 *
 * - `store-flags.ts` finds the store that `--etcd` and `--cell` name, or that of the development cell in this folder.
 * - `check.ts` replays the history of the cell and compares it with what the hosts report; `replay` calls it too.
 * - `store.ts` gives the store its users, and opens a full one again; `secure.ts` does the former for a development cell too.
 * - `restored.ts` gives the cell a new incarnation after its store was restored or made anew.
 * - `debug.ts` writes what a report of a fault needs into an archive, which `tar-writer.ts` makes.
 * - `ticket.ts` shows what a ticket says, and whether a host would take it; no cell is asked.
 * - `keys.ts` makes the key pair of the cell's tickets; `pki.ts` the certificates by which its processes know each other;
 *   `sign.ts` answers machines that join, and renews what it gave them.
 */
import type { Command } from 'commander';
import type { ProgramInput } from '../command/command.ts';
import { cellVerb, collect, CREDENTIALS, verb } from '../command/command.ts';
import type { GlobalOptions } from '../command/context.ts';
import type { IssueFlags } from './pki.ts';
import type { SignFlags } from './sign.ts';
import type { VerifyFlags } from './ticket.ts';
import type { StoreFlags } from './store-flags.ts';

export function addOperatorVerbs(program: Command, { run }: ProgramInput): void {
  storeVerb(
    program,
    'check',
    'verify the history of the cell in etcd, revision by revision, against its invariants',
  ).action((options: GlobalOptions & StoreFlags) =>
    run(options, async (context) => (await import('./check.ts')).check(context, options)),
  );
  storeVerb(
    program,
    'restored',
    'say that the store was restored from a snapshot, or made anew after it was lost: hosts are asked what runs',
  ).action((options: GlobalOptions & StoreFlags) =>
    run(options, async (context) => (await import('./restored.ts')).restored(context, options)),
  );
  const store = program.command('store').description("the cell's store: its users, its space");
  storeVerb(
    store,
    'secure',
    'give the store a user for each role, with the rights of that role only; may be repeated',
  ).action((options: GlobalOptions & StoreFlags) =>
    run(options, async (context) => (await import('./store.ts')).secure(context, options)),
  );
  storeVerb(store, 'reopen', 'drop its past and return its free space: opens a store that is full').action(
    (options: GlobalOptions & StoreFlags) =>
      run(options, async (context) => (await import('./store.ts')).reopen(context, options)),
  );
  verb(
    program,
    'keys <folder>',
    "make the keys of a cell's tickets: a secret one for its arbiters, a public one for its hosts",
  ).action((folder: string, options: GlobalOptions) =>
    run(options, async (context) => (await import('./keys.ts')).keys(context, folder)),
  );
  const operator = program.command('operator').description('for who looks after a cell: debug');
  cellVerb(
    operator,
    'debug [file]',
    'an archive for a report of a fault: versions, state, events, metrics, ends of logs; no secrets',
  )
    .option(
      '--logs <folder>',
      'with the logs of roles there; may be repeated (default: those of the development cell)',
      collect,
      [],
    )
    .action((file: string | undefined, options: GlobalOptions & { readonly logs: readonly string[] }) =>
      run(options, async (context) => (await import('./debug.ts')).debug(context, file, options.logs)),
    );
  const ticket = program
    .command('ticket')
    .description('a ticket of an arbiter, without any cell: inspect, verify');
  verb(
    ticket,
    'inspect [file]',
    'what a ticket says of itself; without a file, or with -, from standard input',
  ).action((file: string | undefined, options: GlobalOptions) =>
    run(options, async (context) => (await import('./ticket.ts')).inspectTicket(context, file ?? '-')),
  );
  verb(ticket, 'verify [file]', 'whether a host would take the ticket; exit code 1 when not')
    .requiredOption('--keys <path>', 'the public keys that hosts pin, or the folder of them')
    .option('--host <host>', 'as this host (default: the one that it names)')
    .option('--at <time>', 'at this time, such as 2026-01-31T12:00:00Z (default: now)')
    .action((file: string | undefined, options: GlobalOptions & VerifyFlags) =>
      run(options, async (context) =>
        (await import('./ticket.ts')).verifyTicket(context, file ?? '-', options),
      ),
    );
  const pki = program
    .command('pki')
    .description("the cell's authority: certificates by which its processes know each other");
  verb(pki, 'init <folder>', 'make the authority of a cell')
    .option('--cell <name>', 'name of the cell', 'default')
    .action((folder: string, options: GlobalOptions & { readonly cell: string }) =>
      run(options, async (context) => (await import('./pki.ts')).init(context, folder, options.cell)),
    );
  verb(pki, 'issue <folder>', 'issue a certificate, or renew it; prints the folder that holds it')
    .requiredOption(
      '--role <role>',
      'what its holder is: scheduler, agent, monitor, arbiter, etcd or operator',
    )
    .requiredOption('--id <name>', 'unique in the cell')
    .option('--san <host>', 'an address or name where it serves; repeat it, or use commas', collect, [])
    .option('--ttl <time>', 'how long it counts (default: 24h)')
    .action((folder: string, options: GlobalOptions & IssueFlags) =>
      run(options, async (context) => (await import('./pki.ts')).issue(context, folder, options)),
    );
  verb(
    pki,
    'rotate <folder>',
    'make the next of three steps to another authority; prints the folders it changed',
  )
    .option('--ttl <time>', 'how long the renewed certificates count (default: 24h)')
    .action((folder: string, options: GlobalOptions & { readonly ttl?: string }) =>
      run(options, async (context) => (await import('./pki.ts')).rotate(context, folder, options.ttl)),
    );
  storeVerb(pki, 'sign <folder>', 'issue certificates to hosts that were invited, and renew them; runs on')
    .option('--keys <folder>', "holds the arbiters' public keys, which each host pins")
    .option('--ttl <time>', 'how long each certificate counts (default: 24h)')
    .action((folder: string, options: GlobalOptions & SignFlags) =>
      run(options, async (context) => (await import('./sign.ts')).sign(context, folder, options)),
    );
  verb(pki, 'show <folder>', 'list what was issued, and until when').action(
    (folder: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./pki.ts')).show(context, folder)),
  );
}

function storeVerb(program: Command, name: string, description: string): Command {
  return verb(program, name, description)
    .option('--etcd <url>', 'the store; repeat it, or use commas, for several members', collect, [])
    .option('--cell <name>', 'name of the cell')
    .option(...CREDENTIALS);
}
