import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FinishedPoint } from './task.ts';

/** Where results go: the points that were finished, by their keys, and what is made of them. */
export class OutFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async make(): Promise<void> {
    await mkdir(join(this.path, 'points'), { recursive: true });
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
    await this.#write(this.#pointFile(key), JSON.stringify(point));
  }

  /** @returns where it was written */
  async writeFile(name: string, text: string): Promise<string> {
    const file = join(this.path, name);
    await this.#write(file, text);
    return file;
  }

  #pointFile(key: string): string {
    return join(this.path, 'points', `${key}.json`);
  }

  /** An interrupt leaves the old file or the new one, never half of it. */
  async #write(file: string, text: string): Promise<void> {
    await writeFile(`${file}.part`, text);
    await rename(`${file}.part`, file);
  }
}
