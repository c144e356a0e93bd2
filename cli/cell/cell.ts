/**
 * Verbs about the cell as a whole:
 *
 * - `ui.ts` opens the page.
 * - `hosts.ts` lists the hosts, `host-status.ts` shows one, `host-labels.ts` labels it; `host-eligibility.ts` drains, cordons and readies one,
 *   `host-fenced.ts` confirms that a lost one runs nothing;
 *   `cli/join` has how one comes, `cli/bootstrap` how all of it begins.
 * - `quota.ts` and `shared.ts` show and set what namespaces may use, and what hosts share; `volume.ts` where data lies.
 * - `schedulers.ts` compares the schedulers; `events.ts` prints what happens.
 * - `pause.ts` pauses placement, eviction, updates or restarts, and has them go on.
 * - `alarms.ts` shows what somebody should look at.
 * - `verdicts.ts` shows who is at fault and what is done about it.
 * - `budgets.ts` shows and says what the cell may do of its own accord.
 * - `cell-status.ts` is `moorage status` without a job.
 */
import type { Command } from 'commander';
import type { HostVerb, EligibilityOptions } from './host-eligibility.ts';
import type { GlobalOptions } from '../command/context.ts';
import type { Runner } from '../command/command.ts';
import type { ProgramInput } from '../command/command.ts';
import { cellVerb, collect, shownVerb, verb, wholeNumber } from '../command/command.ts';
import type { BootstrapFlags } from '../bootstrap/bootstrap.ts';
import type { InviteFlags } from '../join/invite.ts';
import type { JoinFlags } from '../join/join.ts';
import type { FencedOptions } from './host-fenced.ts';
import type { UiFlags } from './ui.ts';
import type { PauseOptions, ScopeOptions } from './pause.ts';
import type { SetQuotaOptions } from './quota.ts';
import type { SetSharedOptions } from './shared.ts';
import { QUOTA_AMOUNT_MAX, SCALAR_AMOUNT_MAX } from '../../src/wire/values/bounds.ts';

/** Others join later. */
const BOOTSTRAP_HOSTS_MAX = 64;

export function addCellVerbs(program: Command, { run }: ProgramInput): void {
  verb(
    program,
    'bootstrap <folder>',
    'make a cell of bare machines; the folder keeps its authority. May be repeated',
  )
    .option('--cell <name>', 'name of the cell', 'default')
    .option(
      '--hosts <tokens>',
      'of "moorage agent --bare", with commas, or @FILE; may be repeated',
      collect,
      [],
    )
    .option('--discovery <url>', 'where a list of the tokens grows, a line each: https or file')
    .option('--min-hosts <n>', 'wait until the list has so many', wholeNumber(1, BOOTSTRAP_HOSTS_MAX))
    .option('--wait <time>', 'how long to wait for that', '5m')
    .option('--dry-run', 'only say what would be done')
    .option('--sign', 'then stay, and renew the certificates of the cell, as moorage pki sign does')
    .action((folder: string, options: GlobalOptions & BootstrapFlags) =>
      run(options, async (context) =>
        (await import('../bootstrap/bootstrap.ts')).bootstrap(context, folder, options),
      ),
    );
  shownVerb(program, 'hosts', 'list hosts and what of them is given away').action((options: GlobalOptions) =>
    run(options, async (context) => (await import('./hosts.ts')).hosts(context)),
  );
  cellVerb(program, 'ui', 'print the address of the page, and open it where there is a browser')
    .option('--no-open', 'only print it')
    .option(
      '--login',
      'with a token in it that ends after a day; whoever has a certificate may make one',
      false,
    )
    .action((options: GlobalOptions & UiFlags) =>
      run(options, async (context) => (await import('./ui.ts')).ui(context, options)),
    );
  addQuotaVerbs(program, run);
  addSharedVerbs(program, run);
  addVolumeVerbs(program, run);
  const host = program
    .command('host')
    .description(
      'one host: status, label; invite, invitations, uninvite, join; drain, cordon, ready, lost, fenced, remove',
    );
  shownVerb(
    host,
    'status <host>',
    'one host: what it has, whether it takes work, and what runs there',
  ).action((id: string, options: GlobalOptions) =>
    run(options, async (context) => (await import('./host-status.ts')).showHost(context, id)),
  );
  cellVerb(
    host,
    'label <host> [labels...]',
    'give a host labels for constraints, such as zone=a, or take one away: zone-',
  ).action((id: string, labels: string[], options: GlobalOptions) =>
    run(options, async (context) => (await import('./host-labels.ts')).labelHost(context, id, labels)),
  );
  const states: readonly (readonly [HostVerb, string])[] = [
    ['drain', 'no new work, and move away what runs there'],
    ['cordon', 'no new work; what runs there stays'],
    ['ready', 'take new work again'],
    ['lost', 'a host without a session is gone: replace its work at once, and end what was to stop there'],
  ];
  for (const [name, description] of states) {
    const one = cellVerb(host, `${name} <host>`, description).option(
      '--reason <text>',
      'kept with the verdict',
      'by an operator',
    );
    if (name === 'drain')
      one
        .option('--at <time>', 'begin then by itself, such as 2027-03-01T02:00Z, or +2h from now')
        .option('--for <duration>', 'so long after its begin it is ready again by itself')
        .option('--deadline <duration>', 'so long after its begin all that is left goes at once')
        .option('--wait', 'end when nothing runs there any more')
        .option('--dry-run', 'only say what would move');
    one.action((id: string, options: GlobalOptions & EligibilityOptions) =>
      run(options, async (context) =>
        (await import('./host-eligibility.ts')).setEligibility(context, name, id, options),
      ),
    );
  }
  cellVerb(host, 'fenced <host>', 'say of a lost host that it runs no more what was placed there')
    .requiredOption('--fence <name>', 'the fence whose word this is: jobs wait for it by that name')
    .requiredOption('--reason <text>', 'how you know: its plug is pulled')
    .action((id: string, options: GlobalOptions & FencedOptions) =>
      run(options, async (context) => (await import('./host-fenced.ts')).confirmFence(context, id, options)),
    );
  cellVerb(host, 'remove <host>', 'forget a host that is gone for good, with all that was placed there')
    .requiredOption('--reason <text>', 'kept with the verdict')
    .action((id: string, options: GlobalOptions & EligibilityOptions) =>
      run(options, async (context) =>
        (await import('./host-eligibility.ts')).removeHost(context, id, options),
      ),
    );
  cellVerb(host, 'invite <host>', 'make a token with which a machine may join the cell as this host, once')
    .option('--san <host>', 'an address or name where it will serve; repeat it, or use commas', collect, [])
    .option('--for <time>', 'how long the token counts', '1h')
    .action((id: string, options: GlobalOptions & InviteFlags) =>
      run(options, async (context) => (await import('../join/invite.ts')).inviteHost(context, id, options)),
    );
  cellVerb(host, 'invitations', 'who may join, by whose word, until when; never the token').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('../join/invite.ts')).listInvitations(context)),
  );
  cellVerb(host, 'uninvite <name>', 'take an invitation back, by its id, or all of a host').action(
    (name: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('../join/invite.ts')).uninvite(context, name)),
  );
  verb(host, 'join <token>', 'make this machine a host of the cell that the token names; - reads the token')
    .requiredOption('--data <folder>', "the agent's folder, for what must outlive it")
    .option('--id <name>', 'refuse a token for another host')
    .option('--listen <host:port>', 'where its agent will listen (default: port 7403 of its first address)')
    .option('--wait <time>', 'how long to wait for the certificate', '2m')
    .action((token: string, options: GlobalOptions & JoinFlags) =>
      run(options, async (context) => (await import('../join/join.ts')).joinCell(context, token, options)),
    );
  scoped(
    cellVerb(program, 'pause <what>', 'pause placement, eviction, rollouts or restarts; what runs goes on')
      .requiredOption('--reason <text>', 'told to whoever asks why')
      .option('--for <time>', 'it goes on by itself after this time, such as 1h'),
  ).action((what: string, options: GlobalOptions & PauseOptions) =>
    run(options, async (context) => (await import('./pause.ts')).pause(context, what, options)),
  );
  scoped(cellVerb(program, 'resume <what>', 'have what was paused, there, go on')).action(
    (what: string, options: GlobalOptions & ScopeOptions) =>
      run(options, async (context) => (await import('./pause.ts')).resume(context, what, options)),
  );
  addFaultVerbs(program, run);
  addBudgetVerbs(program, run);
  shownVerb(program, 'alarms', 'what somebody should look at: what waits, stops or loops for long').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('./alarms.ts')).alarms(context)),
  );
  shownVerb(
    program,
    'schedulers',
    'the competing schedulers: commits, conflicts, rebases, busy share',
  ).action((options: GlobalOptions) =>
    run(options, async (context) => (await import('./schedulers.ts')).schedulers(context)),
  );
  cellVerb(program, 'events', 'what happened in the cell')
    .option('-f, --follow', 'go on with what happens', false)
    .option(
      '--since <id|time>',
      'after this event, or for so long, such as 10m; `0` for all that is held, `now` for none',
    )
    .option('--job <name>', 'of this job only')
    .option('--kind <kinds>', 'of these kinds only, such as conflict,placed')
    .action((options: GlobalOptions & { follow: boolean; since?: string; job?: string; kind?: string }) =>
      run(options, async (context) => (await import('./events.ts')).events(context, options)),
    );
}

/** Where something is paused; without any of them, and without `--namespace`: in the whole cell. */
function scoped(one: Command): Command {
  return one
    .option('--job <name>', 'of this job only')
    .option('--pool <name>', 'on hosts whose attribute `pool` is this')
    .option('--host <host>', 'on this host only');
}

/** Verbs about who is at fault when much fails. */
function addFaultVerbs(program: Command, run: Runner): void {
  const verdicts = cellVerb(program, 'verdicts', 'who is at fault when much fails, and what is done about it')
    .option('-a, --all', 'those too that ended within a day', false)
    .action((options: GlobalOptions & { all: boolean }) =>
      run(options, async (context) => (await import('./verdicts.ts')).verdicts(context, options.all)),
    );
  cellVerb(verdicts, 'clear <suspect>', 'end a verdict and undo its remedies').action(
    (suspect: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./verdicts.ts')).clearVerdict(context, suspect)),
  );
  const remedies = cellVerb(program, 'remedies', 'what is done about verdicts').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('./verdicts.ts')).remedies(context)),
  );
  cellVerb(remedies, 'set <file>', 'say what is done about verdicts; - reads the file').action(
    (file: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./verdicts.ts')).setRemedies(context, file)),
  );
}

/** Verbs about what the cell may do of its own accord. */
function addBudgetVerbs(program: Command, run: Runner): void {
  const budgets = cellVerb(
    program,
    'budgets',
    'how much the cell may move, replace and preempt, and what is left',
  ).action((options: GlobalOptions) =>
    run(options, async (context) => (await import('./budgets.ts')).budgets(context)),
  );
  cellVerb(
    budgets,
    'set <file>',
    'say how much it may; what is left out has no bound; - reads the file',
  ).action((file: string, options: GlobalOptions) =>
    run(options, async (context) => (await import('./budgets.ts')).setBudgets(context, file)),
  );
}

/** Verbs about what namespaces may use. */
function addQuotaVerbs(program: Command, run: Runner): void {
  const quota = cellVerb(program, 'quota', 'what namespaces may use, and how much of it they do').action(
    (options: GlobalOptions) => run(options, async (context) => (await import('./quota.ts')).quotas(context)),
  );
  cellVerb(quota, 'set <namespace>', 'say what a namespace may use; what is not named has no limit')
    .option('--cpu <amount>', 'cores, or millicores such as 500m')
    .option('--memory <size>', 'such as 64Gi')
    .option('--gpu <devices>', 'such as 4, or 0.5')
    .option('--allocations <n>', 'how many at once', wholeNumber(0, QUOTA_AMOUNT_MAX))
    .action((namespace: string, options: GlobalOptions & SetQuotaOptions) =>
      run(options, async (context) => (await import('./quota.ts')).setQuota(context, namespace, options)),
    );
  cellVerb(quota, 'rm <namespace>', 'let a namespace use what there is').action(
    (namespace: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./quota.ts')).removeQuota(context, namespace)),
  );
}

/** Verbs about what hosts share: rack uplinks, power, bandwidth. */
function addSharedVerbs(program: Command, run: Runner): void {
  const shared = cellVerb(program, 'shared', 'what hosts share, and how much of each pool is taken').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('./shared.ts')).shared(context)),
  );
  cellVerb(shared, 'set <name>', 'say what there is of something that hosts share')
    .option(
      '--by <attribute>',
      'hosts of one value share a pool, such as host.rack (default: the whole cell does)',
    )
    .requiredOption('--capacity <amount>', 'of each pool', wholeNumber(0, SCALAR_AMOUNT_MAX))
    .option('--of <value=amount>', 'of the pool of this value; repeat it for several', collect, [])
    .option('--unit <text>', 'what the amounts mean, such as Mbit/s', '')
    .addOption(
      program
        .createOption(
          '--rate <of>',
          'the capacity is a rate, of which jobs ask nothing; fetch: MB of artifacts a second, of all its hosts together',
        )
        .choices(['fetch']),
    )
    .action((name: string, options: GlobalOptions & SetSharedOptions) =>
      run(options, async (context) => (await import('./shared.ts')).setShared(context, name, options)),
    );
  cellVerb(shared, 'rm <name>', 'give nothing more of it').action((name: string, options: GlobalOptions) =>
    run(options, async (context) => (await import('./shared.ts')).removeShared(context, name)),
  );
}

/** Verbs about data that outlives allocations. */
function addVolumeVerbs(program: Command, run: Runner): void {
  const volume = program.command('volume').description('data of jobs: list, status, delete');
  shownVerb(volume, 'list', 'volumes, the hosts of their data, and who has them')
    .alias('ls')
    .option('-A, --all-namespaces', 'of every namespace that you see')
    .action((options: GlobalOptions & { readonly allNamespaces?: boolean }) =>
      run(options, async (context) =>
        (await import('./volume.ts')).listVolumes(context, options.allNamespaces === true),
      ),
    );
  shownVerb(volume, 'status <name>', 'one volume, with who has it').action(
    (name: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./volume.ts')).volumeStatus(context, name)),
  );
  cellVerb(volume, 'delete <name>', 'delete the data of a volume that nothing uses, for good')
    .option('--lost', 'give up data on a host that does not answer')
    .action((name: string, options: GlobalOptions & { readonly lost?: boolean }) =>
      run(options, async (context) =>
        (await import('./volume.ts')).deleteVolume(context, name, options.lost === true),
      ),
    );
}
