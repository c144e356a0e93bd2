import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { KeptProcess } from './kept-process.ts';
import type { ReadyLine } from './role-process.ts';
import { RoleProcess } from './role-process.ts';

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Start it again whenever it ends without an order to stop. */
  readonly keepUp?: boolean;
}

export interface ProcessGroupOptions {
  /** The built command line: `dist/cli/main.cjs`. */
  readonly cliPath: string;
  readonly logFolder: string;
  /** Flags of Node for each process. */
  readonly nodeFlags?: readonly string[];
  /** A process of the group ended by itself, or was started again. */
  readonly onEvent?: (text: string) => void;
}

/** The `--listen` value that asks for any free port of the loopback address. */
export const ANY_PORT = '127.0.0.1:0';

export type RunningProcess = KeptProcess<ReadyLine>;

/** Role processes of one cell, started through the same command line that an operator would use. */
export class ProcessGroup {
  readonly #options: ProcessGroupOptions;
  readonly #members: RunningProcess[] = [];

  constructor(options: ProcessGroupOptions) {
    this.#options = options;
    mkdirSync(options.logFolder, { recursive: true });
  }

  get members(): readonly RunningProcess[] {
    return this.#members;
  }

  /** @throws when its first process ends or stays silent before its ready line; the message ends with the last lines of its log */
  async start(name: string, args: readonly string[], options: StartOptions = {}): Promise<RunningProcess> {
    const { cliPath, logFolder, nodeFlags = [], onEvent } = this.#options;
    const logFile = join(logFolder, `${name}.log`);
    const member = new KeptProcess<ReadyLine>({
      ...{ name, logFile, keepUp: options.keepUp === true },
      launch: (earlier) =>
        new RoleProcess({
          ...{ name, logFile, env: options.env ?? {} },
          args: [...nodeFlags, cliPath, ...(earlier === null ? args : atAddress(args, earlier.address))],
        }),
      onEvent: (text) => onEvent?.(text),
    });
    this.#members.push(member);
    await member.start();
    return member;
  }

  /** Stops those that are meant, side by side, and then all others. */
  async stopAll(first: (member: RunningProcess) => boolean = () => false): Promise<void> {
    const members = this.#members.splice(0);
    const others = members.filter((member) => !first(member));
    await Promise.all(members.filter(first).map((member) => member.stop()));
    await Promise.all(others.map((member) => member.stop()));
  }
}

function atAddress(args: readonly string[], address: string): readonly string[] {
  const { hostname, port } = new URL(address);
  return args.map((arg) => (arg === ANY_PORT ? `${hostname}:${port}` : arg));
}
