import type { Log, Metrics } from '../../ports/telemetry.ts';

const nothing = (): void => undefined;

/** Says nothing: for tests, and for roles inside simulations. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export const silentMetrics: Metrics = {
  count: nothing,
  observe: nothing,
  gauge: nothing,
  render: () => Promise.resolve(''),
};
