import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../../../cli/program.ts';
import { ROLE_VERBS } from '../../../../cli/roles/roles.ts';
import { cliPage, manPage } from '../../../../cli/tools/reference.ts';
import { PROJECT_ROOT } from '../../../support/cli.ts';

const program = buildProgram({ run: async () => undefined, command: null });

describe('issue 28: what is written of the verbs', () => {
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

  it.each(ROLE_VERBS)('the process of a role knows the same of its verb: %s', (name) => {
    const alone = buildProgram({ run: async () => undefined, command: null, verb: name });
    const [own, whole] = [alone, program].map(({ commands }) => commands.find((one) => one.name() === name));
    expect(own?.helpInformation()).toBe(whole?.helpInformation());
  });

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
