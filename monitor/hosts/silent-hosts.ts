import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { JobRecord } from '../../src/core/cell/job.ts';
import { hasBrought, liesOnHost } from '../../src/core/cell/volume.ts';
import { answerText, isFenced, SELF_FENCE } from '../../src/core/host/fences.ts';
import type { Eligibility } from '../../src/core/host/host.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import type { SilentHost } from '../../src/wire/api/monitor-api.ts';
import type { MonitorContext } from '../context.ts';
import type { ComingVerdict } from './hosts.ts';

export interface SilentHostsDeps extends Pick<MonitorContext, 'copy' | 'clock'> {
  readonly view: CellView;
  verdictOf(host: string): ComingVerdict | null;
}

/** What a job waits for on hosts that do not report, as people are told it. */
export class SilentHosts {
  readonly #deps: SilentHostsDeps;

  constructor(deps: SilentHostsDeps) {
    this.#deps = deps;
  }

  /** Hosts that hold allocations of the job and are silent or lost, by name. */
  of(jobKey: string): readonly SilentHost[] {
    const { copy } = this.#deps;
    const record = copy.jobs.get(jobKey)?.value;
    const byHost = new Map<string, Allocation[]>();
    for (const { value } of copy.allocationsByJob.of(jobKey).values())
      byHost.set(value.host, [...(byHost.get(value.host) ?? []), value]);
    const found = [...byHost].map(([host, held]) => this.#silent(host, held, record));
    return found.filter((one) => one !== null).sort((a, b) => a.host.localeCompare(b.host));
  }

  #silent(host: string, held: readonly Allocation[], record: JobRecord | undefined): SilentHost | null {
    const { copy, view } = this.#deps;
    const eligibility = copy.eligibility.get(host)?.value;
    const sinceMs = view.host(host)?.staleSinceMs ?? null;
    const lost = eligibility?.state === 'lost' ? eligibility : null;
    const verdict = this.#deps.verdictOf(host);
    if (lost === null && sinceMs === null && verdict === null) return null;
    const moves = held.every(({ group }) => record?.job.groups[group]?.reschedule.onHostLost === true);
    const fence = record === undefined ? null : fenceFor(held, record, lost, host, this.#deps.clock.nowMs());
    return {
      host,
      allocations: held.length,
      sinceMs: sinceMs ?? verdict?.sinceMs ?? lost?.sinceMs ?? null,
      verdictAtMs: verdict?.dueMs ?? null,
      detail: [
        `${String(held.length)} on ${host}`,
        this.#standing(lost, verdict),
        fence ?? (lost !== null && held.some(hasBrought) ? volumeFor(host) : next(record, host, moves, lost)),
      ]
        .filter((part) => part !== '')
        .join(', '),
    };
  }

  #standing(lost: Eligibility | null, verdict: ComingVerdict | null): string {
    const nowMs = this.#deps.clock.nowMs();
    if (lost !== null) return `lost for ${seconds(nowMs - lost.sinceMs)} (${lost.reason})`;
    if (verdict === null) return 'which does not report, though its session is there: not lost';
    const { sinceMs, dueMs, crowd } = verdict;
    const due = dueMs > nowMs ? `in ${seconds(dueMs - nowMs)}` : 'now';
    const others =
      crowd === 0 ? '' : ` (${String(crowd)} hosts vanished together, which slows the verdicts on them)`;
    return `silent for ${seconds(nowMs - sinceMs)}: declared lost ${due} unless it returns${others}`;
  }
}

/** Which fences are waited for, and what they said; null: none. */
function fenceFor(
  held: readonly Allocation[],
  { job }: JobRecord,
  lost: Eligibility | null,
  host: string,
  nowMs: number,
): string | null {
  const waiting = held.filter((one) => {
    const { fences } = job.groups[one.group] ?? {};
    return fences !== undefined && !isFenced(lost ?? undefined, fences, one);
  });
  const names = [...new Set(waiting.flatMap(({ group }) => job.groups[group]?.fences ?? []))];
  if (names.length === 0) return null;
  const whose =
    names.length === 1
      ? `fence ${names[0] ?? ''} confirms`
      : `one of the fences ${names.join(', ')} confirms`;
  const what = `kept until ${whose} that ${host} runs it no more`;
  if (lost === null) return `then ${what}`;
  const answers = names.flatMap((name) => {
    const answer = lost.fences?.[name];
    return answer === undefined ? [] : [answerText(name, answer, nowMs)];
  });
  const asked = names.filter((name) => name !== SELF_FENCE);
  const word =
    asked.map((name) => `; by hand: moorage host fenced ${host} --fence ${name} --reason TEXT`)[0] ?? '';
  return `${what} (waits for ${seconds(nowMs - lost.sinceMs)}, ${answers.join(', ') || 'no answer yet'})${word}`;
}

/** Of data that another host can have only when this one surely has it no more. */
function volumeFor(host: string): string {
  return `which may still write to its volume: if nothing runs there any more: moorage host remove ${host} --reason TEXT`;
}

/** What follows for the allocations there. */
function next(record: JobRecord | undefined, host: string, moves: boolean, lost: Eligibility | null): string {
  if (record === undefined || record.desired === 'stop')
    return lost === null
      ? ''
      : `kept until it returns or is given up: moorage host remove ${host} --reason TEXT`;
  if (moves) return lost === null ? 'then replaced' : 'replaced';
  const groups = Object.values(record.job.groups);
  if (groups.some(liesOnHost)) return 'and not replaced: its data lies there (moorage volume list)';
  return 'and not replaced: reschedule.onHostLost is not set';
}

function seconds(ms: number): string {
  return `${String(Math.max(0, Math.round(ms / 1_000)))} s`;
}
