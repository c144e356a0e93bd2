import { fstatSync } from 'node:fs';

/** Where a command reads and writes. Tests give another one. */
export interface Terminal {
  out(text: string | Uint8Array): void;
  err(text: string | Uint8Array): void;
  /** Standard output is a terminal and `NO_COLOR` is not set, or `FORCE_COLOR` is. */
  readonly colour: boolean;
  /** Characters in a line of standard output; null: it is no terminal. */
  readonly columns: number | null;
  /** Standard error is a terminal. */
  readonly interactive: boolean;
  /** Standard input was given: it is a file or a pipe, no terminal and not `/dev/null`. */
  readonly inputGiven: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  nowMs(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export function processTerminal(): Terminal {
  const { env } = process;
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '' && env.FORCE_COLOR !== '0';
  const refused = env.NO_COLOR !== undefined && env.NO_COLOR !== '';
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    colour: !refused && (forced || process.stdout.isTTY),
    columns: process.stdout.isTTY ? process.stdout.columns : null,
    interactive: process.stderr.isTTY,
    // Of a process that ends with its parent standard input is that signal, and nothing else (see parent-gone.ts).
    inputGiven: env.MOORAGE_STOP_WITH_PARENT === undefined && isInputGiven(),
    env,
    cwd: process.cwd(),
    nowMs: () => Date.now(),
    sleep,
  };
}

function isInputGiven(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isFile() || input.isSocket();
  } catch {
    // Closed.
    return false;
  }
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  // Help does not sleep, and need not load it.
  const { onAbort } = await import('../../src/ports/on-abort.ts');
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      forget?.();
      resolve();
    };
    const timer = setTimeout(finish, ms);
    const forget = signal === undefined ? null : onAbort(signal, finish);
  });
}
