import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { linuxProcesses, type ShimProgram } from '../../src/adapters/processes/processes.ts';
import type { Processes, ShimLink } from '../../src/ports/process.ts';
import type { ExitRecord, ShimLaunch, StartedRecord } from '../../src/wire/host-files/attempt-files.ts';
import {
  encodeLaunch,
  exitFile,
  segmentOffset,
  startedFile,
} from '../../src/wire/host-files/attempt-files.ts';
import { stateFolder, type TestFolder } from './real-host.ts';

const LOOK_AGAIN_MS = 10;

/** Shims without an agent: attempts are written by hand, and what becomes of them is read from their folders. */
export class ShimWorld {
  readonly folder: TestFolder;
  readonly processes: Processes;
  readonly #begun: string[] = [];
  #count = 0;

  constructor(shim: ShimProgram, folder: TestFolder = stateFolder(), shimGroups: readonly string[] = []) {
    this.folder = folder;
    this.processes = linuxProcesses({ stateFolder: this.folder.path, shim, shimGroups });
  }

  pathOf(name: string, file = ''): string {
    return join(this.folder.path, 'attempts', name, file);
  }

  /** Writes the order and asks for a shim. */
  async begin(command: readonly string[], order: Partial<ShimLaunch> = {}): Promise<string> {
    const name = this.prepare(command, order);
    await this.processes.startShim(name);
    return name;
  }

  prepare(command: readonly string[], order: Partial<ShimLaunch> = {}): string {
    const name = `a${String(++this.#count)}.main.1`;
    const { env, ...rest } = order;
    const launch: ShimLaunch = {
      ...{ cwd: this.folder.path, outBase: 0, errBase: 0, segmentBytes: 1 << 20, segmentsMax: 4, command },
      env: { PATH: process.env['PATH'] ?? '', MOORAGE_ATTEMPT: name, ...env },
      ...rest,
    };
    mkdirSync(this.pathOf(name), { recursive: true });
    writeFileSync(this.pathOf(name, 'launch'), encodeLaunch(launch));
    this.#begun.push(name);
    return name;
  }

  shell(script: string, order: Partial<ShimLaunch> = {}): Promise<string> {
    return this.begin(['sh', '-c', script], order);
  }

  async started(name: string): Promise<StartedRecord> {
    return startedFile.decode(await this.#file(name, 'started'));
  }

  async exit(name: string): Promise<ExitRecord> {
    return exitFile.decode(await this.#file(name, 'exit'));
  }

  async link(name: string): Promise<ShimLink> {
    await this.#file(name, 'started');
    const link = await this.processes.open(name);
    if (link === null) throw new Error(`no shim answers for ${name}`);
    return link;
  }

  /** All that is kept of a stream. */
  output(name: string, stream: 'stdout' | 'stderr' = 'stdout'): Buffer {
    const names = readdirSync(this.pathOf(name)).filter((file) => segmentOffset(stream, file) !== null);
    return Buffer.concat(names.sort().map((file) => readFileSync(this.pathOf(name, file))));
  }

  async printed(name: string, wanted: string): Promise<void> {
    await until(() => this.output(name).includes(wanted));
  }

  /** What the sanitizers said, of every attempt; empty when all was well, or when there are none. */
  complaints(): readonly string[] {
    const files = readdirSync(join(this.folder.path, 'attempts'), { recursive: true, encoding: 'utf8' });
    return files
      .filter((file) => /(^|\/)sanitizer\./.test(file))
      .map((file) => readFileSync(join(this.folder.path, 'attempts', file), 'utf8'));
  }

  /** Ends what still runs. */
  async close(): Promise<void> {
    for (const name of this.#begun)
      while (existsSync(this.pathOf(name, 'claim')) && !existsSync(this.pathOf(name, 'exit'))) {
        await this.processes.killTree(name);
        await pause();
      }
    await this.processes.close();
    this.folder[Symbol.dispose]();
  }

  async #file(name: string, file: string): Promise<string> {
    await until(() => existsSync(this.pathOf(name, file)));
    return readFileSync(this.pathOf(name, file), 'utf8');
  }
}

function pause(): Promise<void> {
  return new Promise((next) => setTimeout(next, LOOK_AGAIN_MS));
}

/** Asks until it is so. Bounded by the test's own deadline. */
export async function until(so: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await so())) await pause();
}
