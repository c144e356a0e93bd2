import type { Command } from 'commander';

/**
 * What `moorage help` tells of every verb, as one document: `docs/cli.md` for people who read, a man page for `man`. Both are
 * made of the verbs themselves, so that neither says what the program does not.
 */

interface Flag {
  readonly flags: string;
  readonly text: string;
}

interface Verb {
  /** `moorage host drain` */
  readonly name: string;
  readonly usage: string;
  readonly text: string;
  readonly flags: readonly Flag[];
}

interface Group {
  readonly title: string;
  readonly verbs: readonly Verb[];
}

/** @returns the verbs with those below them, in the order of `moorage help`; without the flags that stand before them, too */
function groupsOf(program: Command): readonly Group[] {
  const common = new Set(flagsOf(program).map(({ flags }) => flags));
  const groups = new Map<string, Verb[]>();
  for (const command of program.commands) {
    const title = (command.helpGroup() ?? '').replace(/:$/, '');
    const verbs = groups.get(title) ?? [];
    verbs.push(...verbsOf(command, { parent: program.name(), common }));
    groups.set(title, verbs);
  }
  return [...groups].map(([title, verbs]) => ({ title, verbs }));
}

function verbsOf(
  command: Command,
  { parent, common }: { readonly parent: string; readonly common: ReadonlySet<string> },
): readonly Verb[] {
  const name = `${parent} ${command.name()}`;
  const verb = {
    ...{ name, usage: `${parent} ${usageOf(command)}`, text: command.description() },
    flags: flagsOf(command).filter(({ flags }) => !common.has(flags)),
  };
  return [verb, ...command.commands.flatMap((child) => verbsOf(child, { parent: name, common }))];
}

function usageOf(command: Command): string {
  return `${command.name()} ${command.usage()}`.trim();
}

function flagsOf(command: Command): readonly Flag[] {
  const help = command.createHelp();
  return help.visibleOptions(command).map((option) => ({
    flags: help.optionTerm(option),
    text: help.optionDescription(option),
  }));
}

/** @returns Markdown: `docs/cli.md` */
export function cliPage(program: Command): string {
  const parts = groupsOf(program).map(
    ({ title, verbs }) => `## ${title}\n\n${verbs.map(verbInMarkdown).join('\n')}`,
  );
  return `${PAGE_HEAD}\n${flagsInMarkdown(flagsOf(program))}\n${parts.join('\n')}`;
}

const PAGE_HEAD = `# Verbs and flags

Made of the program itself (\`moorage help VERB\` prints the same). What holds for all verbs, names, output and exit codes:
[command-line.md](command-line.md). As a man page: \`moorage man | man -l -\`.

Of most verbs:
`;

function verbInMarkdown({ usage, text, flags }: Verb): string {
  return `### \`${usage}\`\n\n${escaped(sentence(text))}\n\n${flagsInMarkdown(flags)}`;
}

function flagsInMarkdown(flags: readonly Flag[]): string {
  if (flags.length === 0) return '';
  const rows = flags.map((flag) => `| \`${flag.flags.replaceAll('|', '\\|')}\` | ${escaped(flag.text)} |`);
  return `| flag | |\n| --- | --- |\n${rows.join('\n')}\n`;
}

function sentence(text: string): string {
  const begun = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** Placeholders such as <name> would be tags. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replaceAll('\n', ' ');
}

/**
 * @param version of the program
 * @returns a page in the `man` macros, section 1
 */
export function manPage(program: Command, version: string): string {
  const groups = groupsOf(program).map(
    ({ title, verbs }) => `.SH ${title.toUpperCase()}\n${verbs.map(verbInRoff).join('')}`,
  );
  const head = [
    `.TH MOORAGE 1 "" "moorage ${version}"`,
    '.SH NAME',
    roff(`moorage - ${program.description()}`),
    '.SH SYNOPSIS',
    roff('moorage [options] VERB ...'),
    '.SH OPTIONS',
  ].join('\n');
  return `${head}\n${flagsOf(program).map(flagInRoff).join('')}${groups.join('')}`;
}

function verbInRoff({ usage, text, flags }: Verb): string {
  return `.SS ${roff(usage)}\n${roff(sentence(text))}\n${flags.map(flagInRoff).join('')}`;
}

function flagInRoff({ flags, text }: Flag): string {
  return `.TP\n.B ${roff(flags)}\n${roff(text === '' ? '\u00a0' : text)}\n`;
}

/** A line of text: none that begins as a macro does, and dashes that can be copied. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('\n', ' ')
    .replace(/^([.'])/, '\\&$1');
}
