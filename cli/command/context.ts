import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { ChannelClient, HttpClient } from '../../src/ports/http.ts';
import type { CellReach } from '../../src/connect/reach.ts';
import type { FoundCell } from '../../src/connect/cell-address.ts';
import type { Terminal } from './terminal.ts';

/** The options that every command has. */
export interface GlobalOptions {
  readonly address?: readonly string[];
  readonly credentials?: string;
  readonly namespace?: string;
  readonly context?: string;
  readonly output?: Output | 'wide';
  /** Show it again whenever it is another one. */
  readonly watch?: boolean;
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
  /** What shows the same to any role of the cell, and the monitors' addresses. */
  http(): Promise<{ readonly http: HttpClient; readonly addresses: readonly string[] }>;
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
  const cells = await import('../../src/connect/cell-address.ts');
  let found: FoundCell | null = null;
  const cell = (): FoundCell =>
    (found ??= cells.findCell({ option: options.address ?? [], context: options.context, env, cwd }));
  const reach = async (): Promise<CellReach> => {
    const { reachOf } = await import('../../src/connect/reach.ts');
    return reachOf(cell(), { credentials: options.credentials, env, cwd });
  };
  const connect = async (): Promise<MonitorClient> => {
    const [reached, { clientOf }] = await Promise.all([reach(), import('../../src/connect/reach.ts')]);
    return clientOf(reached, interrupted);
  };
  let api: Promise<MonitorClient> | null = null;
  return {
    ...input,
    get namespace() {
      return options.namespace ?? env.MOORAGE_NAMESPACE ?? cell().context?.namespace ?? 'default';
    },
    output: options.output === 'wide' ? 'table' : (options.output ?? 'table'),
    wide: options.output === 'wide',
    api: () => (api ??= connect()),
    monitors: async () => {
      const { addresses, showing } = await reach();
      if (showing === undefined) return { monitors: addresses.urls, authorities: null };
      const authorities = 'token' in showing ? showing.authorities : showing.now.authorities;
      return { monitors: addresses.urls, authorities };
    },
    http: async () => {
      const { nodeClient } = await import('../../src/adapters/http/node-client.ts');
      const { addresses, showing } = await reach();
      return { http: nodeClient(showing), addresses: addresses.urls };
    },
    channels: async () => {
      const { webSocketClient } = await import('../../src/adapters/http/channel-client.ts');
      return webSocketClient((await reach()).showing);
    },
  };
}
