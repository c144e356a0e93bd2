import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import { CliError, EXIT } from './exit.ts';
import type { Terminal } from './terminal.ts';

/** The options that every command has. */
export interface GlobalOptions {
  readonly address?: readonly string[];
  readonly namespace?: string;
  readonly output?: string;
}

export const OUTPUTS = ['table', 'json', 'yaml', 'name'] as const;
export type Output = (typeof OUTPUTS)[number];

export function outputOf(text: string): Output {
  const found = OUTPUTS.find((output) => output === text);
  if (found === undefined)
    throw new CliError(EXIT.usage, `-o ${text}: expected one of ${OUTPUTS.join(', ')}`, 'moorage help');
  return found;
}

/** What a command works with. */
export interface Context {
  readonly terminal: Terminal;
  readonly namespace: string;
  readonly output: Output;
  /** `-o wide`: a table with all there is to show. */
  readonly wide: boolean;
  /** Loaded when it is first asked for: not every command talks to a cell. Its calls end at the first interrupt. */
  api(): Promise<MonitorClient>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly interrupted: AbortSignal;
  /** From here on an interrupt begins an end in order, however long it takes; other commands are left at once. */
  endInOrder(): void;
}

export interface ContextInput {
  readonly terminal: Terminal;
  readonly options: GlobalOptions;
  readonly interrupted: AbortSignal;
  readonly endInOrder: () => void;
}

export function makeContext({ terminal, options, interrupted, endInOrder }: ContextInput): Context {
  let api: Promise<MonitorClient> | null = null;
  const form = options.output ?? 'table';
  return {
    terminal,
    namespace: options.namespace ?? terminal.env.MOORAGE_NAMESPACE ?? 'default',
    output: outputOf(form === 'wide' ? 'table' : form),
    wide: form === 'wide',
    api: () => (api ??= connect(terminal, options.address ?? [], interrupted)),
    interrupted,
    endInOrder,
  };
}

async function connect(
  terminal: Terminal,
  option: readonly string[],
  interrupted: AbortSignal,
): Promise<MonitorClient> {
  const [{ fetchClient }, { MonitorClient }, { monitorAddresses }] = await Promise.all([
    import('../../src/adapters/http/fetch-client.ts'),
    import('../../src/clients/monitor-client.ts'),
    import('./cell-address.ts'),
  ]);
  const addresses = monitorAddresses({ option, env: terminal.env, cwd: terminal.cwd });
  return new MonitorClient(fetchClient(), addresses, interrupted);
}
