/**
 * Verbs about who the caller is: `token.ts` makes, lists and revokes tokens of people; `login.ts` keeps one, read from standard
 * input, as a context; `saved-contexts.ts` lists, chooses and writes contexts;
 * `openid.ts` says whose other tokens count; `secret.ts` sets, lists and deletes secrets of jobs; `audit.ts` shows who did what.
 */
import type { Command } from 'commander';
import type { ProgramInput } from '../command/command.ts';
import { cellVerb, collect, verb, wholeNumber } from '../command/command.ts';
import type { GlobalOptions } from '../command/context.ts';
import type { AuditFlags } from './audit.ts';
import type { LoginFlags } from './login.ts';
import type { OpenIdFlags } from './openid.ts';
import type { SetFlags } from './saved-contexts.ts';
import type { TokenFlags } from './token.ts';

export function addAccessVerbs(program: Command, { run }: ProgramInput): void {
  cellVerb(program, 'login [context]', 'keep a token, read from standard input, for the cell at --address')
    .option('--ca <file>', "certificates of the cell's authority (default: those of your credentials)")
    .action((name: string | undefined, options: GlobalOptions & LoginFlags) =>
      run(options, async (context) => (await import('./login.ts')).login(context, name, options)),
    );
  const token = program.command('token').description('tokens of people: make, list, revoke');
  cellVerb(token, 'create <name>', 'make a token for somebody; it is shown this once')
    .option('--scope <scope>', 'read, submit, operate or admin', 'submit')
    .option('--namespaces <names>', 'its namespaces; repeat it, or use commas (default: all)', collect, [])
    .option('--ttl <time>', 'how long it counts', '7d')
    .action((name: string, options: GlobalOptions & TokenFlags) =>
      run(options, async (context) => (await import('./token.ts')).createToken(context, name, options)),
    );
  cellVerb(token, 'list', 'the tokens that there are, and until when').action((options: GlobalOptions) =>
    run(options, async (context) => (await import('./token.ts')).listTokens(context)),
  );
  cellVerb(token, 'revoke <id>', 'let a token count no more, and cut what is open with it').action(
    (id: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./token.ts')).revokeToken(context, id)),
  );
  const openid = program.command('openid').description('OpenID providers whose tokens count');
  cellVerb(openid, 'set <name>', 'let the tokens of a provider count')
    .requiredOption('--issuer <url>', 'as its tokens name it')
    .requiredOption('--audience <name>', 'for what its tokens are made, as they name it')
    .requiredOption('--namespaces-claim <claim>', 'what in a token lists its namespaces; * is all of them')
    .option('--scope-claim <claim>', 'what in a token names its scope (default: all of them read)')
    .option('--ca <file>', "authorities of the provider's server (default: those of the monitors' machines)")
    .action((name: string, options: GlobalOptions & OpenIdFlags) =>
      run(options, async (context) => (await import('./openid.ts')).setOpenId(context, name, options)),
    );
  cellVerb(openid, 'list', 'the providers, and what is known of their keys').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('./openid.ts')).listOpenId(context)),
  );
  cellVerb(openid, 'delete <name>', 'let its tokens count no more, and cut what is open with them').action(
    (name: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./openid.ts')).deleteOpenId(context, name)),
  );
  const secret = program.command('secret').description('secrets of jobs: set, list, delete');
  cellVerb(
    secret,
    'set <name>',
    'seal what comes on standard input to the hosts, for jobs of the namespace',
  ).action((name: string, options: GlobalOptions) =>
    run(options, async (context) => (await import('./secret.ts')).setSecret(context, name)),
  );
  cellVerb(secret, 'list', 'the names of secrets, never what they hold')
    .option('-A, --all-namespaces', 'of every namespace that you see')
    .action((options: GlobalOptions & { readonly allNamespaces?: boolean }) =>
      run(options, async (context) =>
        (await import('./secret.ts')).listSecrets(context, options.allNamespaces === true),
      ),
    );
  cellVerb(secret, 'delete <name>', 'forget a secret; tasks that run keep what they were given').action(
    (name: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./secret.ts')).deleteSecret(context, name)),
  );
  cellVerb(
    program,
    'audit',
    'who did what: submitted, stopped, drained, set limits, entered a task, made tokens',
  )
    .option('--by <name>', 'whoever it was, such as operator/ann or token/ID; the beginning is enough')
    .option('--act <act>', 'such as submit, stop, draining, set-quota, exec, create-token')
    .option('--target <name>', 'to what: a job, a host, an allocation; the beginning is enough')
    .option('--since <duration>', 'not longer ago, such as 2h')
    .option('--limit <n>', 'the newest so many (default: 200)', wholeNumber(1, 1_000))
    .action((options: GlobalOptions & AuditFlags) =>
      run(options, async (own) => (await import('./audit.ts')).audit(own, options)),
    );
  const context = verb(program, 'context', 'the cells that are saved, and who you are there').action(
    (options: GlobalOptions) =>
      run(options, async (own) => (await import('./saved-contexts.ts')).listContexts(own)),
  );
  verb(context, 'use <name>', 'call this cell where no other is named').action(
    (name: string, options: GlobalOptions) =>
      run(options, async (own) => (await import('./saved-contexts.ts')).useContext(own, name)),
  );
  verb(context, 'set <name>', 'save a cell that is called with a certificate')
    .requiredOption('--address <url>', 'a monitor; repeat it, or use commas, for several', collect, [])
    .option('--credentials <folder>', 'your certificate and key')
    .option('-n, --namespace <name>', 'namespace of the jobs')
    .action((name: string, options: GlobalOptions & SetFlags) =>
      run(options, async (own) => (await import('./saved-contexts.ts')).setContext(own, name, options)),
    );
  verb(context, 'rm <name>', 'forget a cell, and the token for it').action(
    (name: string, options: GlobalOptions) =>
      run(options, async (own) => (await import('./saved-contexts.ts')).removeContext(own, name)),
  );
}
