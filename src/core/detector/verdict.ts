import type { Finding } from './attribution.ts';
import type { Remedy } from './remedies.ts';
import { suspectText } from './suspects.ts';

/**
 * Who is at fault, as it is recorded under the suspect's name: created by one compare, so that two detectors make it once. It holds
 * until `endedAtMs` is set.
 */
export interface Verdict {
  /** See suspects.ts. */
  readonly suspect: string;
  /** The monitor that found it. */
  readonly by: string;
  readonly sinceMs: number;
  readonly evidence: Evidence;
  readonly remedies: readonly RemedyState[];
  /** How often the suspect was at fault within the time for which ended verdicts are kept, this time included. */
  readonly times: number;
  readonly endedAtMs?: number;
  readonly endedBy?: string;
  readonly endedWhy?: string;
  /** An operator ended it: until then the suspect is not at fault again. */
  readonly mutedUntilMs?: number;
}

export interface Evidence {
  /** Natural logarithm of the odds that it is at fault, in hundredths. */
  readonly logOddsCenti: number;
  /** Revisions on hosts that it explains: bad, and well in spite of it. */
  readonly bad: number;
  readonly well: number;
  /** What it is compared with: of a revision all else on the same hosts, of a host the same revisions elsewhere. */
  readonly controlBad: number;
  readonly controlWell: number;
  readonly firstFailedAtMs: number;
  /** At most `NAMED_MAX` of them. */
  readonly hosts: readonly string[];
  readonly hostsTotal: number;
  readonly jobs: readonly string[];
  readonly jobsTotal: number;
  /** How they failed, for people. */
  readonly reasons: readonly string[];
  /** What was changed shortly before the first failure, for people. */
  readonly changes: readonly string[];
  /** What would explain the same as well. */
  readonly rivals: readonly string[];
}

/** `refused`: it was not done, and `detail` says why. `undone`: the verdict ended, or an operator's word was another one. */
export const REMEDY_STATES = ['wanted', 'applied', 'refused', 'undone'] as const;

export interface RemedyState {
  readonly remedy: Remedy;
  readonly state: (typeof REMEDY_STATES)[number];
  readonly atMs: number;
  readonly detail: string;
}

export const NAMED_MAX = 5;
/** Characters of a failure in a sentence. */
const FAILURE_MAX = 120;

export function evidenceOf(finding: Finding, changes: readonly string[]): Evidence {
  const { bad, well, control, logOdds, rivals } = finding;
  const hosts = distinct(bad.map(({ host }) => host));
  const jobs = distinct(bad.map(({ job }) => job));
  return {
    logOddsCenti: Math.round(100 * logOdds),
    ...{ bad: bad.length, well, controlBad: control.bad, controlWell: control.well },
    firstFailedAtMs: Math.round(Math.min(...bad.map(({ firstFailedAtMs }) => firstFailedAtMs))),
    ...{ hosts: hosts.slice(0, NAMED_MAX), hostsTotal: hosts.length },
    ...{ jobs: jobs.slice(0, NAMED_MAX), jobsTotal: jobs.length },
    reasons: distinct(bad.flatMap(({ reasons }) => reasons)).slice(0, NAMED_MAX),
    ...{ changes, rivals: rivals.slice(0, NAMED_MAX) },
  };
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** Both ends of a change of what is in force. */
export function isVerdictOn(verdict: Verdict | undefined): boolean {
  return verdict !== undefined && verdict.endedAtMs === undefined;
}

/** A sentence for people. */
export function verdictText({ suspect, evidence }: Pick<Verdict, 'suspect' | 'evidence'>): string {
  const { hostsTotal, jobsTotal, bad, well, controlBad, controlWell } = evidence;
  const where = suspect.startsWith('revision/')
    ? `bad on ${String(hostsTotal)} hosts, well on ${String(well)}; all else there: ${String(controlWell)} well, ${String(controlBad)} bad`
    : `${String(bad)} bad of ${String(jobsTotal)} jobs on ${String(hostsTotal)} hosts, ${String(well)} well; the same elsewhere: ${String(controlWell)} well, ${String(controlBad)} bad`;
  return `${suspectText(suspect)} is at fault: ${where}${failureText(evidence)}`;
}

/** For what it is closed or paused. */
export function faultText({ suspect, evidence }: Pick<Verdict, 'suspect' | 'evidence'>): string {
  const { bad, controlWell } = evidence;
  return `${suspectText(suspect)}, ${String(bad)} bad there and ${String(controlWell)} of the like well${failureText(evidence)}`;
}

/** Who reads only that must know where to look: one failure as an example. */
function failureText({ reasons: [first, ...others] }: Evidence): string {
  if (first === undefined) return '';
  const text = first.length > FAILURE_MAX ? `${first.slice(0, FAILURE_MAX)}…` : first;
  return `; ${text}${others.length === 0 ? '' : ', and other failures'}`;
}
