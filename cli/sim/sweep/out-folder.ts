import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../src/adapters/disk/make-folder.ts';
import { CliError } from '../../command/exit.ts';
import { fileFault } from '../../../src/adapters/disk/file-fault.ts';
import { writeExitCode } from '../../command/write-exit-code.ts';
import { mustBeWritable, writeText } from '../../command/write-text.ts';
import type { FinishedPoint } from './task.ts';

const REMEDY = 'choose a folder with --out, or make room; --resume takes up the points that are kept';

/** Where results go: the points that were finished, by their keys, and what is made of them. */
export class OutFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** @throws CliError when it cannot be made or written, before anything is computed for it */
  async make(): Promise<void> {
    const points = join(this.path, 'points');
    try {
      makeFolder(points);
    } catch (error) {
      const why = `cannot make the folder ${points}: ${fileFault(error)}`;
      throw new CliError(writeExitCode(error), why, REMEDY, error);
    }
    await mustBeWritable(join(this.path, 'report.html'), REMEDY);
    await mustBeWritable(this.#pointFile('probe'), REMEDY);
  }

  /** null: not there, or not readable as a point. */
  async readPoint(key: string): Promise<FinishedPoint | null> {
    try {
      return JSON.parse(await readFile(this.#pointFile(key), 'utf8')) as FinishedPoint;
    } catch (error) {
      if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  async writePoint(key: string, point: FinishedPoint): Promise<void> {
    await writeText(this.#pointFile(key), JSON.stringify(point), REMEDY);
  }

  /** @returns where it was written */
  async writeFile(name: string, text: string): Promise<string> {
    const file = join(this.path, name);
    await writeText(file, text, REMEDY);
    return file;
  }

  #pointFile(key: string): string {
    return join(this.path, 'points', `${key}.json`);
  }
}
