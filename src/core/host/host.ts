/**
 * A host as its agent registers it, and whether it takes new work. Beside it:
 *
 * - `allowances.ts`: what a task may ask beyond being a stranger
 * - `attributes.ts`: what a host answers to a constraint
 * - `report.ts`: what a host reports of its allocations
 * - `states.ts`: the observed states and their rank
 * - `merge.ts`: the view of one host, merged from its reports
 * - `leaving.ts`: how an allocation leaves a host that is drained
 * - `drain-window.ts`: when a drain begins and ends by itself
 * - `fences.ts`: what of a lost host is confirmed to run no more
 * - `shim.ts`: what agents and shims agree on
 */
import type { Resources } from '../cell/resources.ts';
import { subtractResources } from '../cell/resources.ts';

export interface Host {
  readonly id: string;
  /** Base URL of the agent's API, without a slash at the end. */
  readonly address: string;
  /** What the machine has. */
  readonly capacity: Resources;
  /** For the system and the agent; never given away. */
  readonly reserved: Resources;
  /** The model of each device, by device index. */
  readonly gpuModels: readonly string[];
  /** Ports for tasks, both ends included. */
  readonly portRange: PortRange;
  /** For constraints: `os`, `zone`, `class`, `driver.exec`. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly bootId: string;
  /** Grows with every start of the agent, so that (incarnation, sequence) orders all reports of the host. */
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

export const HOST_CONFIRMATIONS = ['lost', 'removed'] as const;
export type HostConfirmation = (typeof HOST_CONFIRMATIONS)[number];

/** The eligibility record of a host. A host without one is `ready` with counter 0. */
export interface Eligibility {
  readonly state: EligibilityState;
  readonly reason: string;
  /** Who set it: an operator's name or a role's id. */
  readonly by: string;
  readonly sinceMs: number;
  /** The counter of the fencing epoch: grows with each change. */
  readonly counter: number;
  readonly drainDeadlineMs?: number;
  /** Absent: no drain begins or ends by itself. */
  readonly window?: DrainWindow;
  /**
   * Of a lost host, an operator's word that it needs no more time: `lost`: what was to end there has ended; `removed`: so has
   * all else, and the host's record goes.
   */
  readonly confirmed?: HostConfirmation;
  /** What operators say of the host beside its agent's attributes; goes before those of the same names. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Of a lost host: how long its session had been gone, by the clock of the role that declared it lost. */
  readonly silentMs?: number;
  /** Of a lost host: what its fences answered, by name. Absent: none was asked. */
  readonly fences?: FenceAnswers;
}

/** That a host is lost, as somebody read it: while the record is unchanged, the host has not come back. */
export interface LostHost {
  readonly host: string;
  /** The mod revision of its eligibility. */
  readonly revision: number;
}

/** What a fence answered last for a lost host. It goes with the verdict. */
export interface FenceAnswer {
  /** The host can run no more what was placed there under an older counter. */
  readonly confirmed: boolean;
  /** The fencing counter of the verdict for which it was asked. */
  readonly counter: number;
  /** How its program ended, or an operator's reason. */
  readonly detail: string;
  /** The monitor that asked it, or the operator whose word it is. */
  readonly by: string;
  readonly atMs: number;
}

export type FenceAnswers = Readonly<Record<string, FenceAnswer>>;

/**
 * A drain that begins by itself. It stands beside the state of its host until it ends or an operator says another word, so
 * that whichever monitor lives carries it out, and a host that is lost and back meanwhile is drained again.
 */
export interface DrainWindow {
  /** When it begins. */
  readonly atMs: number;
  /** When the host is ready again by itself. Absent: when an operator says so. */
  readonly endsAtMs?: number;
  /** From its begin until all that is left goes at once. */
  readonly deadlineMs?: number;
  readonly reason: string;
  /** The operator who planned it. */
  readonly by: string;
  /** Absent: it has not begun. */
  readonly beganAtMs?: number;
}

/** Attribute: how many leaked resources (mounts, cgroups, processes) the host cannot clean up. */
export const LEAKING = 'leaking';

/** Attribute: why the host cannot keep new orders: its disk is `full`, `read-only`, or fails (`io`); absent: it can. */
export const DISK_FAULT = 'disk.fault';

/** A host with more leaks than this takes no new work: it would only lose more. */
export const LEAKS_MAX = 8;

/** The number of leaks in a host's attributes. */
export function leaksOf(attributes: Readonly<Record<string, string>>): number {
  return Number(attributes[LEAKING] ?? 0) || 0;
}
