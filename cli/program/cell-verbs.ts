import type { Command } from 'commander';
import type { HostVerb, JudgeOptions } from '../commands/host.ts';
import type { GlobalOptions } from '../context.ts';
import type { ProgramInput } from '../program.ts';
import { cellVerb } from '../verbs.ts';

/** Verbs about the cell: hosts, schedulers, what happens. */
export function addCellVerbs(program: Command, { run }: ProgramInput): void {
  program.commandsGroup('Cell:');
  cellVerb(program, 'hosts', 'list hosts and what of them is given away').action((options: GlobalOptions) =>
    run(options, async (context) => (await import('../commands/hosts.ts')).hosts(context)),
  );
  const host = program.command('host').description('give a verdict on one host: drain, cordon, ready');
  const verdicts: readonly (readonly [HostVerb, string])[] = [
    ['drain', 'no new work, and move away what runs there'],
    ['cordon', 'no new work; what runs there stays'],
    ['ready', 'take new work again'],
  ];
  for (const [name, description] of verdicts) {
    const verb = cellVerb(host, `${name} <host>`, description).option(
      '--reason <text>',
      'kept with the verdict',
      'by an operator',
    );
    if (name === 'drain')
      verb
        .option('--deadline <duration>', 'then all that is left goes at once, batch tasks too')
        .option('--wait', 'end when nothing runs there any more')
        .option('--dry-run', 'only say what would move');
    verb.action((id: string, options: GlobalOptions & JudgeOptions) =>
      run(options, async (context) =>
        (await import('../commands/host.ts')).judgeHost(context, name, id, options),
      ),
    );
  }
  cellVerb(program, 'schedulers', 'the competing schedulers: commits, conflicts, rebases, busy share').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('../commands/schedulers.ts')).schedulers(context)),
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
      run(options, async (context) => (await import('../commands/events.ts')).events(context, options)),
    );
}
