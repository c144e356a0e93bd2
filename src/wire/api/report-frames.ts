import type { AllocationReport, HostReport, HostReportHead } from '../../core/host/report.ts';
import { OBSERVED_RANK } from '../../core/host/states.ts';

/**
 * What flows over `/v1/reports`. A host sends its own HostReports only. A monitor sends those of all its hosts,
 * interleaved, each host's own in order, and besides:
 *
 * `silent`: the host has not reported for `silentMs` (also at the start, for each host that is silent then); any later
 * message of that host ends the silence. `left`: the host's registration is gone. `view`: sent first, after
 * all that the monitor knew at the start, on changes, and as the stream's heartbeat; `complete`: every known host has
 * reported or timed out; `synced`: everything known at the start has been sent.
 *
 * Asked for its own hosts (`?hosts=own`, for other monitors), it sends those that say something to it directly, each from all
 * that is known of it on; `silent`: the host says nothing to it any more, though it may to another monitor. A host's `beat` says
 * what time it is there as long as that is wrong.
 *
 * Asked for single jobs (`?jobs=<namespace>/<job>,...`, at most `JOBS_ASKED_MAX`), a monitor answers with the `part` of
 * each host that reports something of them, then `view`, and ends.
 */
export type ReportFrame = HostReport | SilentFrame | LeftFrame | ViewFrame | PartFrame;

/**
 * In answers about single jobs (`?job=`) alone: all that the host reported of them as of its message (incarnation, seq).
 */
export interface PartFrame extends HostReportHead {
  readonly kind: 'part';
  readonly allocations: readonly AllocationReport[];
}

/** Longest names make some 8 KB of them, half of what a request's line may be. */
export const JOBS_ASKED_MAX = 32;

export interface SilentFrame {
  readonly kind: 'silent';
  readonly host: string;
  readonly silentMs: number;
}

export interface LeftFrame {
  readonly kind: 'left';
  readonly host: string;
}

export interface ViewFrame {
  readonly kind: 'view';
  readonly complete: boolean;
  readonly synced: boolean;
  /** After how long without a message a host is called `silent`. Absent: 3 s. */
  readonly silenceMs?: number;
}

/**
 * Checks a received frame. By hand, since a monitor takes tens of thousands a second: what is indexed or compared is
 * checked, the rest is only shown to people.
 * @returns null when it is none: from a newer version, or broken
 */
export function readReportFrame(value: unknown): ReportFrame | null {
  if (!isObject(value)) return null;
  const kind = value['kind'];
  if (kind === 'view') return isView(value) ? (value as unknown as ViewFrame) : null;
  const host = value['host'];
  if (typeof host !== 'string') return null;
  if (kind === 'left') return value as unknown as LeftFrame;
  if (kind === 'silent')
    return typeof value['silentMs'] === 'number' ? (value as unknown as SilentFrame) : null;
  if (!isCounter(value['incarnation']) || !isCounter(value['seq'])) return null;
  switch (kind) {
    case 'beat':
      return value as unknown as HostReport;
    case 'gone':
      return typeof value['id'] === 'string' ? (value as unknown as HostReport) : null;
    case 'change':
      return isReport(value['allocation'], host) ? (value as unknown as HostReport) : null;
    case 'full':
    case 'part': {
      const reports = value['allocations'];
      const fine = Array.isArray(reports) && reports.every((report) => isReport(report, host));
      return fine ? (value as unknown as ReportFrame) : null;
    }
    default:
      return null;
  }
}

function isView({ complete, silenceMs }: Record<string, unknown>): boolean {
  return typeof complete === 'boolean' && (silenceMs === undefined || typeof silenceMs === 'number');
}

/** A host reports about itself only: a report that names another host is refused. */
function isReport(value: unknown, host: string): value is AllocationReport {
  if (!isObject(value) || value['host'] !== host) return false;
  for (const name of ['id', 'namespace', 'job', 'group']) if (typeof value[name] !== 'string') return false;
  const state = value['state'];
  return (
    typeof state === 'string' && Object.hasOwn(OBSERVED_RANK, state) && typeof value['released'] === 'boolean'
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCounter(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
