import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { Showing } from '../../src/adapters/pki/bearer.ts';
import type { MonitorAddresses } from '../../src/clients/monitor-failover.ts';
import type { ChannelClient } from '../../src/ports/http.ts';
import type { FoundCell } from './cell-address.ts';
import type { Terminal } from './terminal.ts';

/** The options that every command has. */
export interface GlobalOptions {
  readonly address?: readonly string[];
  readonly credentials?: string;
  readonly namespace?: string;
  readonly context?: string;
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
  /** Where the same monitors are, and whom the caller trusts, as PEM; null: the cell has no authority. */
  monitors(): Promise<{ readonly monitors: readonly string[]; readonly authorities: string | null }>;
  /** Opens channels to the same monitors. */
  channels(): Promise<ChannelClient>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly interrupted: AbortSignal;
  /** From here on an interrupt begins an end in order, however long it takes; other commands are left at once. */
  endInOrder(): void;
}

export async function makeContext(
  options: GlobalOptions,
  input: Pick<Context, 'terminal' | 'interrupted' | 'endInOrder'>,
): Promise<Context> {
  const { terminal, interrupted } = input;
  const { env, cwd } = terminal;
  const cells = await import('./cell-address.ts');
  let found: FoundCell | null = null;
  const cell = (): FoundCell =>
    (found ??= cells.findCell({ option: options.address ?? [], context: options.context, env, cwd }));
  const reach = (): Promise<CellReach> => reachOf(terminal, options, cell());
  let api: Promise<MonitorClient> | null = null;
  return {
    ...input,
    get namespace() {
      return options.namespace ?? env.MOORAGE_NAMESPACE ?? cell().context?.namespace ?? 'default';
    },
    output: options.output === 'wide' ? 'table' : (options.output ?? 'table'),
    wide: options.output === 'wide',
    api: () => (api ??= connect(reach(), interrupted)),
    monitors: async () => {
      const { addresses, showing } = await reach();
      if (showing === undefined) return { monitors: addresses.urls, authorities: null };
      const authorities = 'token' in showing ? showing.authorities : showing.now.authorities;
      return { monitors: addresses.urls, authorities };
    },
    channels: async () => {
      const { webSocketClient } = await import('../../src/adapters/http/channel-client.ts');
      return webSocketClient((await reach()).showing);
    },
  };
}

interface CellReach {
  readonly addresses: MonitorAddresses;
  readonly showing: Showing | undefined;
}

/** Where the cell's monitors are, and what is shown to them. */
async function reachOf(
  { env, cwd }: Terminal,
  options: GlobalOptions,
  { addresses, context }: FoundCell,
): Promise<CellReach> {
  const { credentialsFolder } = await import('./cell-address.ts');
  const named = credentialsFolder({ option: options.credentials, env, cwd }, addresses.urls);
  if (named === null && context?.token !== undefined && context.authorities !== undefined) {
    const { bearerOf } = await import('../../src/adapters/pki/bearer.ts');
    return { addresses, showing: bearerOf(context.token, context.authorities) };
  }
  const folder = named ?? context?.credentials ?? null;
  if (folder === null) return { addresses, showing: undefined };
  const { readCredentials } = await import('./credentials.ts');
  return { addresses, showing: readCredentials(folder, null) };
}

async function connect(reaching: Promise<CellReach>, interrupted: AbortSignal): Promise<MonitorClient> {
  const [{ addresses, showing }, { nodeClient }, { MonitorClient }] = await Promise.all([
    reaching,
    import('../../src/adapters/http/node-client.ts'),
    import('../../src/clients/monitor-client.ts'),
  ]);
  return new MonitorClient(nodeClient(showing), addresses, interrupted);
}
