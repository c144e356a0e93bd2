import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../../../cli/program.ts';
import { cliPage, manPage } from '../../../../cli/tools/reference.ts';
import { PROJECT_ROOT } from '../../../support/cli.ts';

const program = buildProgram({ run: async () => undefined, command: null });

/** Each `moorage …` in the code of a document, up to what ends a command there. */
function commandsIn(text: string): readonly string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  const lines = [...text.matchAll(/^```\w*\n([^]*?)^```/gm)].flatMap(([, block = '']) => block.split('\n'));
  return [...spans, ...lines]
    .map((code) => /^(?:npx )?(moorage [^#|;&>]*)/.exec(code.trim())?.[1]?.trim() ?? '')
    .filter((command) => command !== '');
}

/** @returns what the program does not know of it: a verb or a flag */
function unknownIn(command: string): string | null {
  const [before = ''] = command.split(' -- ');
  let at: Command = program;
  for (const word of before.split(/\s+/).slice(1)) {
    const child: Command | undefined = at.commands.find(
      (one) => one.name() === word || one.aliases().includes(word),
    );
    if (child === undefined) {
      if (at === program && word !== 'help' && /^[a-z]/.test(word)) return word;
      break;
    }
    at = child;
  }
  const known = [program, ...(at === program ? [] : [at])].flatMap(({ options }) => options);
  const names = new Set(
    known.flatMap(({ long }) => (long == null ? [] : [long])).concat('--help', '--version'),
  );
  return [...before.matchAll(/(?<=\s|\[)--[a-z-]+/g)].find(([flag]) => !names.has(flag))?.[0] ?? null;
}

describe('what is written of the verbs', () => {
  it('commands in the documents have verbs and flags that there are', () => {
    const docs = readdirSync(join(PROJECT_ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && name !== 'cli.md')
      .map((name) => join('docs', name));
    const wrong = ['README.md', ...docs].flatMap((file) =>
      commandsIn(readFileSync(join(PROJECT_ROOT, file), 'utf8')).flatMap((command) => {
        const unknown = unknownIn(command);
        return unknown === null ? [] : [`${file}: ${unknown} in ${command}`];
      }),
    );
    expect(wrong).toEqual([]);
    expect(unknownIn('moorage stpo JOB')).toBe('stpo');
    expect(unknownIn('moorage host drain H --deadlin 1m')).toBe('--deadlin');
  });

  it('docs/cli.md is made of the program', async () => {
    await expect(cliPage(program)).toMatchFileSnapshot(join(PROJECT_ROOT, 'docs', 'cli.md'));
  });

  it('it has every verb with every flag that it shows', () => {
    const page = cliPage(program);
    const inAll = (command: Command, path: string): void => {
      expect(page).toContain(`### \`${path}`);
      for (const option of command.createHelp().visibleOptions(command))
        expect(page).toContain(`\`${option.flags.replaceAll('|', '\\|')}\``);
      for (const child of command.commands) inAll(child, `${path} ${child.name()}`);
    };
    for (const command of program.commands) inAll(command, `moorage ${command.name()}`);
  });

  it.each(program.commands.map((one) => one.name()))(
    'a process of one verb knows the same of it: %s',
    (name) => {
      const alone = buildProgram({ run: async () => undefined, command: null, verb: name });
      const [own, whole] = [alone, program].map(({ commands }) =>
        commands.find((one) => one.name() === name),
      );
      expect(own?.helpInformation()).toBe(whole?.helpInformation());
    },
  );

  it('the man page has no line that groff does not know, and every flag', () => {
    const page = manPage(program, '1.2.3');
    const macros = new Set(page.split('\n').flatMap((line) => /^\.\S+/.exec(line)?.[0] ?? []));
    expect([...macros].sort()).toEqual(['.B', '.SH', '.SS', '.TH', '.TP']);
    for (const option of program.createHelp().visibleOptions(program))
      expect(page).toContain(option.flags.replaceAll('-', '\\-'));
    const rendered = spawnSync('groff', ['-man', '-Tascii', '-P-cbou', '-ww'], {
      input: page,
      encoding: 'utf8',
    });
    expect(rendered.stderr).toBe('');
    expect(rendered.stdout).toContain('moorage run');
  });
});
