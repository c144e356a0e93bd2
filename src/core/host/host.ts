import type { Resources } from '../cell/resources.ts';
import { subtractResources } from '../cell/resources.ts';

/** A host as its own agent registers it. */
export interface Host {
  readonly id: string;
  /** Base URL of the agent's API, without a slash at the end. */
  readonly address: string;
  /** What the machine has. */
  readonly capacity: Resources;
  /** Headroom for the system and the agents; never given away. */
  readonly reserved: Resources;
  /** The model of each device, by device index. */
  readonly gpuModels: readonly string[];
  /** Ports that may be given to tasks: both ends included. */
  readonly portRange: PortRange;
  /** What constraints can speak of: `os`, `zone`, `class`, `driver.exec`. The id is always there as `id`. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly bootId: string;
  /** Grows with every start of the agent, so that (incarnation, sequence) orders all that it ever reports. */
  readonly incarnation: number;
  readonly agentVersion: string;
}

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** What can be given away on the host: capacity less what is reserved. */
export function allocatable(host: Host): Resources {
  return subtractResources(host.capacity, host.reserved);
}

/** Whether a host takes new work, and why not. Only `ready` does. */
export const ELIGIBILITY = ['ready', 'cordoned', 'draining', 'quarantined', 'lost'] as const;
export type EligibilityState = (typeof ELIGIBILITY)[number];

/** The verdict about a host. A host without one is `ready` with counter 0. */
export interface Eligibility {
  readonly state: EligibilityState;
  readonly reason: string;
  /** Who gave the verdict: an operator's name or a role's id. */
  readonly by: string;
  readonly sinceMs: number;
  /** The counter of the fencing epoch: grows with each verdict. */
  readonly counter: number;
  readonly drainDeadlineMs?: number;
  /** Of a lost one: how long its session had been gone, by the clock of whoever declared it. */
  readonly silentMs?: number;
}

/** Attribute of a host on which something was left behind that does not go away: how many such things. */
export const LEAKING = 'leaking';

/** With more than this many that do not go away, a host takes no new work: it would only lose more. */
export const LEAKS_MAX = 8;

/** How many a host with these attributes says there are. */
export function leaksOf(attributes: Readonly<Record<string, string>>): number {
  return Number(attributes[LEAKING] ?? 0) || 0;
}
