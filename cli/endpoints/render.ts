import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { serving } from '../../src/core/names/endpoints.ts';
import { renderTemplate } from '../../src/core/names/template.ts';
import type { NameChange } from '../../src/wire/api/names-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { readText } from '../command/read-text.ts';
import { mustBeWritable, writeText } from '../command/write-text.ts';
import { followNames, wholeName } from './follow.ts';

export interface RenderOptions {
  readonly template: string;
  readonly out: string;
  readonly exec?: string;
  readonly once: boolean;
}

const HINT = 'moorage names render --help';
/** Between two times that the file is written: each may cost its reader a restart. The first change is written at once. */
const GAP_MS = 100;
/** After a command that failed, unless the endpoints change before. */
const AGAIN_MS = 1_000;

/** Keeps the file as the template and the endpoints of the name say, until it is interrupted. @throws CliError, ProblemError */
export async function render(context: Context, typed: string, options: RenderOptions): Promise<number> {
  const name = wholeName(context, typed);
  const template = await readText(options.template, HINT);
  await mustBeWritable(options.out, HINT);
  // A name of nothing is an error at once.
  await (await context.api()).name(name);
  const file = new RenderedFile(context, template, options);
  for await (const change of followNames(context, { name })) {
    if (options.once) return file.write(change);
    file.next(change);
  }
  await file.idle();
  return EXIT.ok;
}

/** Of changes that come while it is written the last one counts. */
class RenderedFile {
  readonly #context: Context;
  readonly #template: string;
  readonly #options: RenderOptions;
  #next: NameChange | null = null;
  #working: Promise<void> | null = null;
  /** The last one was written and its command has failed. */
  #failed = false;

  constructor(context: Context, template: string, options: RenderOptions) {
    this.#context = context;
    this.#template = template;
    this.#options = options;
  }

  next(change: NameChange): void {
    this.#next = change;
    this.#working ??= this.#work();
  }

  async idle(): Promise<void> {
    await this.#working;
  }

  /** @returns the exit code of its command; 0 when nothing was to be written */
  async write({ endpoints }: NameChange): Promise<number> {
    const { out, exec } = this.#options;
    const text = renderTemplate(this.#template, serving(endpoints));
    const isSame = (await readFile(out, 'utf8').catch(() => null)) === text;
    if (isSame && !this.#failed) return EXIT.ok;
    if (!isSame) await writeText(out, text, HINT);
    this.#context.terminal.err(`${out}: ${String(serving(endpoints).length)} endpoints\n`);
    return exec === undefined ? EXIT.ok : await shell(exec);
  }

  async #work(): Promise<void> {
    const { terminal, interrupted } = this.#context;
    while (this.#next !== null && !interrupted.aborted) {
      const change = this.#next;
      this.#next = null;
      this.#failed = (await this.write(change)) !== EXIT.ok;
      if (this.#failed) terminal.err(`the command failed, and is tried again\n`);
      await terminal.sleep(this.#failed ? AGAIN_MS : GAP_MS, interrupted);
      if (this.#failed) this.#next ??= change;
    }
    this.#working = null;
  }
}

/** Its output is that of this command. @returns its exit code; 1 when it could not be started, or a signal ended it */
function shell(command: string): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
}
