import type { NetworkSettings } from '../network/fault-profile.ts';
import type { StoreSettings } from '../store/fault-profile.ts';
import type { History } from '../history/history.ts';
import type { NemesisSettings } from './fault-plan.ts';

/** What goes wrong by chance, message by message. Empty: nothing. */
export interface FaultSettings {
  readonly network?: Partial<NetworkSettings>;
  readonly store?: Partial<StoreSettings>;
  /** Draws a plan of faults from the seed. */
  readonly nemesis?: NemesisSettings;
}

/** Each setting by the name of the fault that does the same for a while; most of them are kinds of a plan. */
const NETWORK: Readonly<Record<keyof NetworkSettings, string>> = {
  ...{
    delayMinMs: 'slow-network',
    delayMaxMs: 'slow-network',
    loss: 'lossy-network',
    double: 'doubling-network',
  },
};
const STORE: Readonly<Record<keyof StoreSettings, string>> = {
  ...{
    delayMinMs: 'slow-store',
    delayMaxMs: 'slow-store',
    requestLost: 'requests-lost',
    replyLost: 'replies-lost',
  },
  ...{ late: 'attempts-late', readFails: 'reads-fail', watchLags: 'watches-lag', watchLagMs: 'watches-lag' },
  ...{ watchBreaks: 'watches-break', leaseLateMs: 'leases-late', down: 'store-down', full: 'store-full' },
};

/**
 * Records the settings by which faults happen at random, as faults without a target behind those of the plan: a checker that
 * excuses what a fault may have caused asks only whether there was one.
 * @param first the number of the first
 * @returns records that they are over
 */
export function recordRandomFaults(
  { network = {}, store = {} }: FaultSettings,
  first: number,
  history: History,
): () => void {
  const settings = [
    ...Object.entries(network).map(([name, value]) => ({
      kind: NETWORK[name as keyof NetworkSettings],
      name,
      value,
    })),
    ...Object.entries(store).map(([name, value]) => ({
      kind: STORE[name as keyof StoreSettings],
      name,
      value,
    })),
  ];
  const facts = settings.map(({ kind, name, value }, place) => ({
    ...{ fault: first + place, kind, targets: [], what: `by chance: ${kind} ${name} ${String(value)}` },
    byChance: true as const,
  }));
  for (const fact of facts) history.add('nemesis', { ...fact, phase: 'begin' });
  return () => {
    for (const fact of facts) history.add('nemesis', { ...fact, phase: 'end' });
  };
}
