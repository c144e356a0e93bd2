import type { VolumeUse } from '../../src/core/cell/volume.ts';
import type { Commands } from '../../src/ports/commands.ts';
import { COMMAND_OUTPUT_BYTES_MAX } from '../../src/ports/commands.ts';

/** A program that brings data to this host and takes it away again: `docs/volume-drivers.md` is its contract. */
export interface VolumeDriverCommand {
  /** Absolute path. */
  readonly command: string;
  /** What its operator wrote behind the path, for the program alone: where its storage is. */
  readonly options: string;
}

export type DriverVerb = 'create' | 'attach' | 'detach' | 'force-detach' | 'delete';

/** `held`: another host has it. `failed`: whatever else; `why` is for people. */
export type DriverAnswer =
  | { readonly kind: 'done'; readonly path: string }
  | { readonly kind: 'held' | 'failed'; readonly why: string };

/** The data that a driver is asked for. */
export type BroughtData = Pick<VolumeUse, 'claim' | 'id'> &
  Partial<Pick<VolumeUse, 'access' | 'sizeMib' | 'readOnly'>> & { readonly namespace: string };

/** Of one verb: storage may have to be formatted, or a network waited for. Then it is killed. */
const DRIVER_MS = 60_000;
const KILL_MS = 5_000;
const PROBE_MS = 10_000;

const HELD = 3;
/** Of `env` and shells: the program is not there, or may not be run. */
const NOT_RUN: readonly (number | null)[] = [126, 127];
/** A line of its errors goes into reasons that people read. */
const WHY_CHARS_MAX = 300;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Runs one driver's program, with nothing of the agent's environment. */
export class VolumeDriver {
  readonly #commands: Commands;
  readonly #driver: VolumeDriverCommand;
  readonly #host: string;
  readonly #limitMs: number;

  /** @param host id of this host: the holder that the driver notes down */
  constructor(commands: Commands, driver: VolumeDriverCommand, host: string, limitMs = DRIVER_MS) {
    this.#commands = commands;
    this.#driver = driver;
    this.#host = host;
    this.#limitMs = limitMs;
  }

  /** Is the program there? */
  async isThere(): Promise<boolean> {
    const { code } = await this.#commands.run(['test', '-x', this.#driver.command], PROBE_MS);
    return code === 0;
  }

  /** May be done again, with the same answer. @returns never throws */
  async run(verb: DriverVerb, data: BroughtData): Promise<DriverAnswer> {
    const { command } = this.#driver;
    const args = [verb, data.namespace, data.claim, data.id];
    const env = Object.entries(this.#env(data)).map(([name, value]) => `${name}=${value}`);
    const { code, out, err } = await this.#commands.run(
      // What it started goes with it: a program of before that still works would be in the way of the next one.
      ['timeout', '-s', 'KILL', String(this.#limitMs / 1000), 'env', '-i', ...env, command, ...args],
      this.#limitMs + KILL_MS,
    );
    const isLong = out.length >= COMMAND_OUTPUT_BYTES_MAX || err.length >= COMMAND_OUTPUT_BYTES_MAX;
    if (code === 0) return verb === 'attach' ? attachedAt(out) : { kind: 'done', path: '' };
    const said = lastLine(err);
    if (code === HELD) return { kind: 'held', why: said === '' ? 'another host has it' : said };
    return { kind: 'failed', why: failureText(code, said, { isLong, limitMs: this.#limitMs }) };
  }

  #env({ access, sizeMib, readOnly }: BroughtData): Readonly<Record<string, string>> {
    return {
      PATH,
      LC_ALL: 'C.UTF-8',
      MOORAGE_HOST: this.#host,
      MOORAGE_DRIVER_OPTIONS: this.#driver.options,
      MOORAGE_VOLUME_ACCESS: access ?? 'exclusive',
      ...(sizeMib === undefined ? {} : { MOORAGE_VOLUME_SIZE_MIB: String(sizeMib) }),
      ...(readOnly === true ? { MOORAGE_VOLUME_READ_ONLY: 'true' } : {}),
    };
  }
}

function attachedAt(out: string): DriverAnswer {
  const path = lastLine(out);
  if (FOLDER.test(path)) return { kind: 'done', path };
  return { kind: 'failed', why: `attach printed no folder on its last line, but ${JSON.stringify(path)}` };
}

/** Absolute, without steps `.` and `..`, and without control characters. */
const FOLDER = /^(?:\/(?!\.{1,2}(?:\/|$))[^/\p{Cc}]{1,255}){1,32}$/u;

function failureText(
  code: number | null,
  said: string,
  { isLong, limitMs }: { readonly isLong: boolean; readonly limitMs: number },
): string {
  if (isLong) return `it printed more than ${String(COMMAND_OUTPUT_BYTES_MAX / 1024)} KiB`;
  if (NOT_RUN.includes(code)) return said === '' ? 'it cannot be run' : said;
  if (code === null) return `it was killed, or took longer than ${String(limitMs / 1000)} s`;
  return said === '' ? `it exited with code ${String(code)}` : said;
}

function lastLine(text: string): string {
  const line = text.trimEnd().split('\n').at(-1) ?? '';
  return line.trim().slice(0, WHY_CHARS_MAX);
}
