import type { RemedyState, Verdict } from '../../src/core/detector/verdict.ts';
import { domainsOf, hostSuspect } from '../../src/core/detector/suspects.ts';
import { isVerdictOn, verdictText } from '../../src/core/detector/verdict.ts';
import { changeRecord } from '../../src/runtime/records/change-record.ts';
import { verdictCodec } from '../../src/wire/verdicts/verdict-records.ts';
import type { MonitorContext } from '../context.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';

/** So long the record of an ended verdict is kept: whoever is at fault again is closed for longer. */
export const ENDED_KEPT_MS = 24 * 3_600_000;
/** So long nobody finds the suspect again whom an operator cleared. */
export const MUTED_MS = 3_600_000;

type Ports = Pick<MonitorContext, 'store' | 'keys' | 'clock'>;

/** So long a version that was at fault is told of: somebody asks why another one runs. */
const FAULT_TOLD_MS = 3_600_000;

/** What is at fault that a job has to do with: its versions, also what was lately; its hosts, and what those share. For people. */
export function faultsOf(
  { copy, clock }: Pick<MonitorContext, 'copy' | 'clock'>,
  jobKey: string,
): readonly string[] {
  const suspects = new Set<string>();
  const over: string[] = [];
  for (const [suspect, { value }] of copy.verdicts.rows()) {
    if (!suspect.startsWith(`revision/${jobKey}/`)) continue;
    const { endedAtMs, endedWhy = '' } = value;
    if (endedAtMs === undefined) suspects.add(suspect);
    else if (clock.nowMs() - endedAtMs < FAULT_TOLD_MS) over.push(`${sentenceOf(value)}; over: ${endedWhy}`);
  }
  for (const { host } of copy.allocationsOf(jobKey)) {
    suspects.add(hostSuspect(host));
    const known = copy.hostOf(host);
    if (known !== undefined) for (const domain of domainsOf(known)) suspects.add(domain);
  }
  const now = [...suspects].flatMap((suspect) => {
    const verdict = copy.verdicts.get(suspect)?.value;
    return verdict !== undefined && isVerdictOn(verdict) ? [sentenceOf(verdict)] : [];
  });
  return [...now, ...over];
}

function sentenceOf(verdict: Verdict): string {
  const isOver = !isVerdictOn(verdict);
  // What is over has undone its remedies, and tells of them all the same.
  const done = verdict.remedies.filter(({ state }) => state === 'applied' || (isOver && state === 'undone'));
  const so = done.map(({ remedy }) => remedy).join(', ');
  return `${verdictText(verdict)}${so === '' ? '' : `; so: ${so}`}`;
}

/** Writes verdicts, each by a compare with what is there. */
export class VerdictWriter {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** @returns whether it was made by this call: another detector may have been first, or an operator has cleared the suspect */
  async make(verdict: Omit<Verdict, 'times'>): Promise<boolean> {
    const nowMs = this.#ports.clock.nowMs();
    const made = await this.#change(verdict.suspect, (known) => {
      if (isVerdictOn(known) || (known?.mutedUntilMs ?? 0) > nowMs) return null;
      return { ...verdict, times: (known?.times ?? 0) + 1 };
    });
    return made.isChanged;
  }

  /** @param remedies how far they have come */
  async mark(suspect: string, remedies: readonly RemedyState[]): Promise<void> {
    await this.#change(suspect, (known) => (known === undefined ? null : { ...known, remedies }));
  }

  /**
   * Ends it; twice counts once.
   * @param mutedMs for so long the suspect is not found again; 0: it may be at once
   * @returns the revision at which it holds; null: there is no such verdict
   */
  async end(
    suspect: string,
    { by, why, mutedMs }: { readonly by: string; readonly why: string; readonly mutedMs: number },
  ): Promise<number | null> {
    const nowMs = Math.round(this.#ports.clock.nowMs());
    const muted = mutedMs === 0 ? {} : { mutedUntilMs: nowMs + mutedMs };
    const { revision } = await this.#change(suspect, (known) =>
      known !== undefined && isVerdictOn(known)
        ? { ...known, ...muted, endedAtMs: nowMs, endedBy: by, endedWhy: why }
        : null,
    );
    return revision === 0 ? null : revision;
  }

  async forget(suspect: string, revision: number): Promise<void> {
    const { store, keys } = this.#ports;
    const key = keys.verdict(suspect);
    await store.attempt({
      compares: [{ key, target: 'modRevision', equals: revision }],
      writes: [{ kind: 'delete', key }],
      readBack: [],
    });
  }

  async #change(
    suspect: string,
    next: (known: Verdict | undefined) => Verdict | null,
  ): Promise<{ readonly revision: number; readonly isChanged: boolean }> {
    const { store, keys } = this.#ports;
    const change = await changeRecord(store, keys.verdict(suspect), verdictCodec, next);
    if (change.kind === 'unknown') throw outcomeUnknown('ask for the same again: twice counts once');
    if (change.kind === 'contended')
      throw refuse(409, 'contended', 'others are changing the same verdict; try again');
    return { revision: change.revision, isChanged: change.kind === 'written' };
  }
}
