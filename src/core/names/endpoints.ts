import type { SlotAttempt } from '../cell/allocation.ts';
import type { Claim } from '../cell/claim.ts';
import type { AllocationReport } from '../host/report.ts';
import { isUp } from '../slots/rollout.ts';

/** Where one instance is reached that runs, and passes its health checks. */
export interface Endpoint {
  readonly allocation: string;
  readonly host: string;
  readonly index: number;
  readonly jobVersion: number;
  /** An IP address, or a name where the host is registered by one. */
  readonly address: string;
  readonly port: number;
  /** Since when its host is silent, wall clock; absent: it reports. */
  readonly staleSinceMs?: number;
}

/** An allocation, as its host reports it or as the store has it. */
export type Instance = SlotAttempt & Pick<Claim, 'id' | 'host' | 'ports'>;

/** What is known of the host of an allocation. */
export interface EndpointHost {
  /** Base URL of its agent. */
  readonly address: string;
  readonly staleSinceMs: number | null;
}

/** The instance's endpoints by port label: at its own address, where it has one, else at its host's. Empty: it does not serve. */
export function endpointsOf(
  report: AllocationReport,
  host: EndpointHost,
): Readonly<Record<string, Endpoint>> {
  if (report.released || !isUp(report)) return {};
  return endpointsAt(report, report.addresses?.[0] ?? hostIn(host.address), host.staleSinceMs);
}

/** The same of an allocation that should run on a host nobody here has heard of: it may serve. */
export function unreportedEndpoints(
  allocation: Instance,
  { address, staleSinceMs }: EndpointHost,
): Readonly<Record<string, Endpoint>> {
  return endpointsAt(allocation, hostIn(address), staleSinceMs);
}

function endpointsAt(
  { id, host, index, jobVersion, ports }: Instance,
  address: string | null,
  staleSinceMs: number | null,
): Readonly<Record<string, Endpoint>> {
  if (address === null) return {};
  const stale = staleSinceMs === null ? {} : { staleSinceMs };
  return Object.fromEntries(
    Object.entries(ports).map(([label, port]) => [
      label,
      { allocation: id, host, index, jobVersion, address, port, ...stale },
    ]),
  );
}

/** Those to use: on a silent host only when there is no other. Silence is no evidence of an end, so the last ones stay. */
export function serving(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const fresh = endpoints.filter(({ staleSinceMs }) => staleSinceMs === undefined);
  return fresh.length === 0 ? endpoints : fresh;
}

function hostIn(url: string): string | null {
  const found = /^[a-z]+:\/\/(?:\[([^\]]+)\]|([^:/]+))/.exec(url);
  return found?.[1] ?? found?.[2] ?? null;
}
