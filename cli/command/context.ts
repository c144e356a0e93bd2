import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import type { MonitorAddresses } from '../../src/clients/monitor-failover.ts';
import type { ChannelClient } from '../../src/ports/http.ts';
import type { Terminal } from './terminal.ts';

/** The options that every command has. */
export interface GlobalOptions {
  readonly address?: readonly string[];
  readonly credentials?: string;
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
  /** Opens channels to the same monitors. */
  channels(): Promise<ChannelClient>;
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
  const reach = (): Promise<CellReach> => reachOf(terminal, options);
  let api: Promise<MonitorClient> | null = null;
  return {
    ...input,
    namespace: options.namespace ?? terminal.env.MOORAGE_NAMESPACE ?? 'default',
    output: options.output === 'wide' ? 'table' : (options.output ?? 'table'),
    wide: options.output === 'wide',
    api: () => (api ??= connect(reach(), interrupted)),
    channels: async () => {
      const { webSocketClient } = await import('../../src/adapters/http/channel-client.ts');
      return webSocketClient((await reach()).credentials);
    },
  };
}

interface CellReach {
  readonly addresses: MonitorAddresses;
  readonly credentials: Credentials | undefined;
}

/** Where the cell's monitors are, and what is shown to them. */
async function reachOf(terminal: Terminal, options: GlobalOptions): Promise<CellReach> {
  const { credentialsFolder, monitorAddresses } = await import('./cell-address.ts');
  const { env, cwd } = terminal;
  const addresses = monitorAddresses({ option: options.address ?? [], env, cwd });
  const folder = credentialsFolder({ option: options.credentials, env, cwd }, addresses.urls);
  if (folder === null) return { addresses, credentials: undefined };
  const { readCredentials } = await import('./credentials.ts');
  return { addresses, credentials: readCredentials(folder, null) };
}

async function connect(reaching: Promise<CellReach>, interrupted: AbortSignal): Promise<MonitorClient> {
  const [{ addresses, credentials }, { nodeClient }, { MonitorClient }] = await Promise.all([
    reaching,
    import('../../src/adapters/http/node-client.ts'),
    import('../../src/clients/monitor-client.ts'),
  ]);
  return new MonitorClient(nodeClient(credentials), addresses, interrupted);
}
