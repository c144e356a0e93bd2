import { z } from 'zod';
import { ID_PATTERN, ID_RULE } from '../../core/cell/ids.ts';
import type { RoleKind } from '../../core/cell/cell.ts';
import type { DrainWindow, EligibilityState } from '../../core/host/host.ts';
import type { SharedResource } from '../../core/quota/shared-resource.ts';
import { SHARED_RATES } from '../../core/quota/shared-resource.ts';
import { whole } from '../codec/codec.ts';
import * as bounds from '../values/bounds.ts';
import { mapOf, plainText, readBody } from './api.ts';

/**
 * The monitor's API about the cell as a whole.
 *
 *   GET    /v1/cell           → CellStatus
 *   PUT    /v1/shared/:name   SharedResourceRequest → SharedStatus; the same again changes nothing
 *   DELETE /v1/shared/:name   → 204, also when there is none. What was placed keeps its share until it ends
 *   GET    /v1/alarms         → AlarmsAnswer: what somebody should look at, as this monitor sees it
 *   GET    /v1/metrics/targets → ScrapeTargets
 */
export interface CellStatus {
  readonly hosts: { readonly known: number; readonly alive: number };
  readonly allocations: number;
  readonly jobs: number;
  /** null: this monitor does not maintain the store, or the store does not answer. */
  readonly store: StoreStatus | null;
  /** Since when the store does not answer this monitor; absent: it does. */
  readonly storeAwaySinceMs?: number;
  readonly shared: readonly SharedStatus[];
  /** Absent from older monitors. */
  readonly kept?: KeptRecords;
  /** Those that are registered. Absent from older monitors. */
  readonly monitors?: readonly MonitorAddress[];
  /** Hosts whose drain begins or ends at a time, the earliest first. Absent from older monitors. */
  readonly drains?: readonly DrainPlan[];
}

export interface DrainPlan {
  readonly host: string;
  readonly state: EligibilityState;
  readonly window: DrainWindow;
}

/** Records of what has ended, and how many may stay and for how long, by this monitor's settings; null: all, for ever. */
export interface KeptRecords {
  /** One-off runs that have ended. */
  readonly runs: KeptCount;
  /** Other jobs that have ended. */
  readonly jobs: KeptCount;
  /** Earlier versions: the most of each job. */
  readonly versions: Omit<KeptCount, 'most'> & { readonly mostEach: number | null };
  /** Ended allocations: the most of each slot of a job. */
  readonly outcomes: { readonly count: number; readonly mostEach: number | null };
}

export interface KeptCount {
  readonly count: number;
  readonly most: number;
  readonly forMs: number | null;
}

export interface AlarmsAnswer {
  /** Those that stand, the oldest first. */
  readonly alarms: readonly Alarm[];
  /** How long a job may wait, stop or loop before it is one. */
  readonly afterMs: number;
}

/**
 * `waiting`: allocations of a job have had no host for too long. `stopping`: they were told to end, and have not. `looping`: they
 * end soon after each start, again and again. `clock`: a host's clock is not the monitor's. `store`: its database nears its quota.
 * `record`: one of the store cannot be read.
 */
export const ALARM_KINDS = ['waiting', 'stopping', 'looping', 'clock', 'store', 'record'] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];

export interface Alarm {
  readonly kind: AlarmKind;
  /** `<namespace>/<job>`, a host, `etcd`, or a key below the cell's root. */
  readonly subject: string;
  /** Since when it is so, by the wall clock of the monitor, or since that monitor has seen it. */
  readonly sinceMs: number;
  /** The reason, for people. */
  readonly detail: string;
}

/** Where the metrics of all roles are, as Prometheus' `http_sd_configs` read it. */
export type ScrapeTargets = readonly {
  /** One `host:port`. */
  readonly targets: readonly string[];
  readonly labels: { readonly role: RoleKind; readonly id: string; readonly __metrics_path__?: string };
}[];

export interface MonitorAddress {
  readonly id: string;
  /** Base URL without a slash at the end. */
  readonly address: string;
}

export interface StoreStatus {
  readonly revision: number;
  /** The past before this revision is forgotten. */
  readonly compactedRevision: number;
  /** The largest member's database file, and what of it is in use. */
  readonly databaseBytes: number;
  readonly inUseBytes: number;
  /** Beyond this the store refuses writes, by this monitor's settings. */
  readonly quotaBytes: number;
  readonly isFull: boolean;
}

/** A shared resource with its pools: those with a host, and those in use. */
export interface SharedStatus extends Omit<SharedResource, 'capacities'> {
  readonly pools: readonly PoolStatus[];
  /** False: its definition was removed; nothing more is allocated, and what is in use was placed before. */
  readonly isDefined: boolean;
}

export interface PoolStatus {
  /** Of the attribute; `cell` for a resource that the whole cell shares. */
  readonly value: string;
  readonly capacity: number;
  readonly used: number;
  /** How many hosts belong to it. */
  readonly hosts: number;
}

export type SharedResourceRequest = Omit<SharedResource, 'name'>;

const ATTRIBUTE_CHARS_MAX = 128;
const VALUES_MAX = 10_000;

const shortText = plainText(bounds.TEXT_BYTES_MAX);
const amount = whole.max(bounds.SCALAR_AMOUNT_MAX);

export const sharedResourceRequest: z.ZodType<SharedResourceRequest> = z.strictObject({
  unit: shortText,
  by: shortText
    .min(1)
    .max(ATTRIBUTE_CHARS_MAX)
    .refine(
      (by) => !['id', 'host', 'host.id'].includes(by),
      'is the host itself: what one host has is a scalar of its own',
    )
    .nullable(),
  capacity: amount,
  capacities: mapOf(shortText.min(1), amount, VALUES_MAX),
  rate: z.enum(SHARED_RATES).exactOptional(),
});

const nameParam = z.strictObject({ name: z.string().regex(ID_PATTERN, ID_RULE) });

/** @throws ProblemError 400 with the place that is wrong */
export function readSharedResource(name: unknown, body: unknown): SharedResource {
  return { ...readBody(sharedResourceRequest, body), name: readSharedName(name) };
}

/** @throws ProblemError 400 */
export function readSharedName(name: unknown): string {
  return readBody(nameParam, { name }).name;
}
