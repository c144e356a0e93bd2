import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CliProcess, CliResult } from '../support/cli.ts';
import { ended, PROJECT_ROOT, startCli } from '../support/cli.ts';
import type { Installed } from '../support/packed.ts';
import { installPacked } from '../support/packed.ts';

/** What is typed, and what it shows: lines in which `…` stands for anything. */
interface Step {
  readonly heading: string;
  readonly script: string;
  readonly shows: readonly string[];
}

function stepsOf(page: string): readonly Step[] {
  return page.split(/^## /m).flatMap((section) => {
    const heading = section.slice(0, section.indexOf('\n'));
    const blocks = section.matchAll(/^```sh\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm);
    return [...blocks].map(([, script = '', text = '']) => ({
      ...{ heading, script },
      shows: text.split('\n').filter((line) => line !== ''),
    }));
  });
}

function isShown(line: string, output: string): boolean {
  const parts = line.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'm').test(output);
}

const DOCS = join(PROJECT_ROOT, 'docs');
const tutorial = readFileSync(join(DOCS, 'tutorial.md'), 'utf8');
const [, inTerminal = ''] = /^```sh terminal\nnpx moorage (.*)\n```$/m.exec(tutorial) ?? [];
let packed: Installed;
let cell: CliProcess;

beforeAll(async () => {
  packed = installPacked();
  cell = startCli(inTerminal.split(' '), { cwd: packed.folder, cli: packed.cli });
  await cell.says('Ctrl-C stops it');
});
afterAll(async () => {
  cell.kill('SIGINT');
  await cell.end;
  packed[Symbol.dispose]();
});

function typed(script: string): Promise<CliResult> {
  const child = spawn('sh', ['-e', '-c', script], {
    cwd: packed.folder,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return ended(child);
}

/** Types what the page says, and looks for what it says is shown. */
async function typePage(page: string): Promise<void> {
  for (const { heading, script, shows } of stepsOf(page)) {
    const { code, stdout, stderr } = await typed(script);
    expect([heading, code], `${script}\n${stdout}\n${stderr}`).toEqual([heading, 0]);
    for (const line of shows)
      expect(isShown(line, stdout), `${line}\nis not in what\n${script}\nshows:\n${stdout}\n${stderr}`).toBe(
        true,
      );
    if (process.env['MOORAGE_SHOW'] !== undefined) process.stderr.write(`== ${heading}\n${stdout}${stderr}`);
  }
}

it('the tutorial is typed from its beginning to its end, and shows what it says', async () => {
  expect(stepsOf(tutorial).length).toBeGreaterThan(8);
  await typePage(tutorial);
  const { stdout } = await typed('npx moorage ps -o json');
  const { jobs } = JSON.parse(stdout) as { readonly jobs: readonly { readonly name: string }[] };
  expect(jobs.map(({ name }) => name)).not.toContain('web');
});

it.each(readdirSync(join(DOCS, 'how-to')))(
  'docs/how-to/%s is typed, and shows what it says',
  async (name) => {
    const page = readFileSync(join(DOCS, 'how-to', name), 'utf8');
    expect(stepsOf(page)).not.toEqual([]);
    await typePage(page);
  },
);
