import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { Terminal } from './terminal.ts';

/** The options that every command has. */
export interface GlobalOptions {
  readonly address?: readonly string[];
  readonly namespace?: string;
  readonly output?: Output | 'wide';
}

export type Output = 'table' | 'json' | 'yaml' | 'name';

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

export function makeContext(
  options: GlobalOptions,
  input: Pick<Context, 'terminal' | 'interrupted' | 'endInOrder'>,
): Context {
  const { terminal, interrupted } = input;
  let api: Promise<MonitorClient> | null = null;
  return {
    ...input,
    namespace: options.namespace ?? terminal.env.MOORAGE_NAMESPACE ?? 'default',
    output: options.output === 'wide' ? 'table' : (options.output ?? 'table'),
    wide: options.output === 'wide',
    api: () => (api ??= connect(terminal, options.address ?? [], interrupted)),
  };
}

async function connect(
  terminal: Terminal,
  option: readonly string[],
  interrupted: AbortSignal,
): Promise<MonitorClient> {
  const [{ nodeClient }, { MonitorClient }, { monitorAddresses }] = await Promise.all([
    import('../../src/adapters/http/node-client.ts'),
    import('../../src/clients/monitor-client.ts'),
    import('./cell-address.ts'),
  ]);
  const addresses = monitorAddresses({ option, env: terminal.env, cwd: terminal.cwd });
  return new MonitorClient(nodeClient(), addresses, interrupted);
}
