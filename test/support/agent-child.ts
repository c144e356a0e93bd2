// A host-agent in a process of its own, for tests that kill it or run it as another user: prints its address, ends on SIGTERM.
import type { AgentOptions } from '../../host-agent/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';

const [stateFolder = '', shim = '', more = '{}'] = process.argv.slice(2);
const { runAs, ...options } = JSON.parse(more) as Partial<AgentOptions> & { readonly runAs?: number };
if (runAs !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(runAs);
  process.setuid?.(runAs);
}
const agent = await runAgent({
  cell: 'test',
  etcd: [],
  id: 'host-a',
  version: 'test',
  listen: { host: '127.0.0.1', port: 0 },
  log: silentLog,
  stateFolder,
  requireTickets: false,
  shim: { kind: 'native', path: shim },
  store: new MemoryCellStore({ clock: systemClock }),
  settings: { logBounds: { segmentBytes: 64 * 1024, segmentsMax: 64 } },
  ...options,
});
process.once('SIGTERM', () => void agent.stop().then(() => process.exit(0)));
process.stdout.write(`${JSON.stringify({ address: agent.address, incarnation: agent.incarnation })}\n`);
