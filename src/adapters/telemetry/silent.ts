import type { Log, Metrics } from '../../ports/telemetry.ts';

const nothing = (): void => undefined;

/** Writes nothing: for tests and simulations. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export const silentMetrics: Metrics = {
  count: nothing,
  total: nothing,
  observe: nothing,
  gauge: nothing,
  render: () => Promise.resolve({ body: '', contentType: 'text/plain' }),
};
