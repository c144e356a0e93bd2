import type { CellApi } from './cell-api.ts';
import { outputOf } from './output/print.ts';
import type { Output } from './output/print.ts';
import type { Terminal } from './terminal.ts';

/** The options that every command has. */
export interface GlobalOptions {
  readonly address?: readonly string[];
  readonly namespace?: string;
  readonly output?: string;
}

/** What a command works with. */
export interface Context {
  readonly terminal: Terminal;
  readonly namespace: string;
  readonly output: Output;
  /** Loaded when it is first asked for: not every command talks to a cell. */
  api(): Promise<CellApi>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly interrupted: AbortSignal;
}

export function makeContext(terminal: Terminal, options: GlobalOptions, interrupted: AbortSignal): Context {
  let api: Promise<CellApi> | null = null;
  return {
    terminal,
    namespace: options.namespace ?? terminal.env.MOORAGE_NAMESPACE ?? 'default',
    output: outputOf(options.output ?? 'table'),
    api: () => (api ??= connect(terminal, options.address ?? [])),
    interrupted,
  };
}

async function connect(terminal: Terminal, option: readonly string[]): Promise<CellApi> {
  const [{ fetchClient }, { CellApi }, { monitorAddresses }] = await Promise.all([
    import('../src/adapters/http/fetch-client.ts'),
    import('./cell-api.ts'),
    import('./cell-address.ts'),
  ]);
  const addresses = monitorAddresses({ option, env: terminal.env, cwd: terminal.cwd });
  return new CellApi(fetchClient(), addresses);
}
