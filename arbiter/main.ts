import { EtcdCellStore } from '../src/adapters/etcd/etcd.ts';
import { undiciClient } from '../src/adapters/http/client.ts';
import type { Reach } from '../src/adapters/http/http.ts';
import { fastifyServer } from '../src/adapters/http/http.ts';
import { systemClock, systemRandom } from '../src/adapters/system/system.ts';
import { systemFailures } from '../src/adapters/system/fail-points.ts';
import { promMetrics } from '../src/adapters/telemetry/metrics.ts';
import { openTracing } from '../src/adapters/telemetry/tracing.ts';
import { readSigningKey } from '../src/adapters/tickets/key-files.ts';
import { ticketSigner } from '../src/adapters/tickets/tickets.ts';
import { cellKeys } from '../src/core/cell/keys.ts';
import type { Log } from '../src/ports/telemetry.ts';
import { armed } from '../src/runtime/faults/armed.ts';
import { failPointsOf } from '../src/runtime/faults/orders.ts';
import { abandonable } from '../src/runtime/wait/abandon.ts';
import { TICKET_REQUEST_BYTES_MAX } from '../src/wire/api/arbiter-api.ts';
import { Arbiter } from './arbiter.ts';
import { arbiterRoutes } from './routes.ts';

export interface ArbiterMainOptions {
  readonly cell: string;
  /** `http://127.0.0.1:2379`, one or several. */
  readonly etcd: readonly string[];
  readonly id: string;
  readonly version: string;
  /** Port 0: any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly reach?: Reach;
  readonly log: Log;
  /** The arbiters' secret key, see `adapters/tickets/key-files.ts`. */
  readonly signingKeyFile: string;
  /** How long its registration outlives it. */
  readonly sessionTtlMs?: number;
}

export interface RunningArbiter {
  readonly address: string;
  /** Rejects when it cannot go on; resolves after `stop`. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

const SESSION_TTL_MS = 10_000;
const STOP_GRACE_MS = 2_000;

export async function runArbiter(options: ArbiterMainOptions): Promise<RunningArbiter> {
  const { id, log, version } = options;
  const credentials = options.reach?.credentials;
  const signingKey = await readSigningKey(options.signingKeyFile);
  const { abandon, or } = abandonable();
  const { store, http, server, signer } = armed('arbiter', failPointsOf(systemFailures), {
    store: new EtcdCellStore({
      endpoints: options.etcd,
      credentials,
      clock: systemClock,
      log,
      onWrongServer: abandon,
    }),
    http: undiciClient({ credentials }),
    server: fastifyServer({ log, ...options.reach }),
    signer: ticketSigner(signingKey),
  });
  const metrics = promMetrics({ processMetrics: true });
  const tracing = await openTracing({ role: 'arbiter', id, cell: options.cell, log });
  const arbiter = new Arbiter({
    store,
    keys: cellKeys(options.cell),
    http,
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    signer,
    record: { kind: 'arbiter', id, version, policy: '', startedAtMs: systemClock.nowMs() },
    options: { sessionTtlMs: options.sessionTtlMs ?? SESSION_TTL_MS },
  });
  const listen = { ...options.listen, bodyBytesMax: TICKET_REQUEST_BYTES_MAX };
  const listener = await server.listen(arbiterRoutes(arbiter, { metrics, log, ...tracing.ports }), listen);
  const { ended } = await arbiter.start(listener.address);
  log.info({ address: listener.address, keyId: signingKey.id }, 'the arbiter listens');
  return {
    address: listener.address,
    ended: or(ended),
    stop: async () => {
      // First of all: others wait for the quotas, and requests under way are told to ask there.
      await arbiter.handOver();
      await listener.close(STOP_GRACE_MS);
      await arbiter.close();
      await http.close();
      await store.close();
      await tracing.close();
    },
  };
}
