import type { Census } from '../../src/core/detector/attribution.ts';
import type { Suspect } from '../../src/core/detector/suspects.ts';
import { domainsOf, hostSuspect, revisionOf } from '../../src/core/detector/suspects.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { MonitorContext } from '../context.ts';

/** A change so long before the first failure may be its cause. */
const RECENT_MS = 30 * 60_000;
/** Of changes of hosts; the oldest are forgotten. */
const CHANGES_MAX = 10_000;

interface Noted {
  readonly atMs: number;
  readonly what: string;
}

type Ports = Pick<MonitorContext, 'copy' | 'clock'>;

/** What was changed shortly before something failed (S3.23): a submission, an agent that was started, a kernel that was not there before. */
export class RecentChanges {
  readonly #ports: Ports;
  /** By suspect: the last change, on the monotonic clock. */
  readonly #noted = new Map<Suspect, Noted>();
  readonly #domains = new Set<Suspect>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** What was there already is no change. */
  begin(): void {
    for (const [, { value }] of this.#ports.copy.hosts.rows())
      for (const domain of domainsOf(value)) this.#domains.add(domain);
  }

  hostChanged(now: Host | undefined, before: Host | undefined): void {
    if (now === undefined) return;
    const atMs = this.#ports.clock.monotonicMs();
    const what =
      before === undefined
        ? 'joined the cell'
        : before.bootId !== now.bootId
          ? 'was rebooted'
          : before.incarnation === now.incarnation
            ? null
            : 'got another agent process';
    if (what !== null) this.#note(hostSuspect(now.id), { atMs, what });
    for (const domain of domainsOf(now)) {
      if (this.#domains.has(domain)) continue;
      this.#domains.add(domain);
      this.#note(domain, { atMs, what: `was seen for the first time, on ${now.id}` });
    }
  }

  /** What may have been changed of the suspect before its first failure, on the monotonic clock. */
  before(suspect: Suspect, firstMs: number): Noted | null {
    const noted = this.#submitted(suspect) ?? this.#noted.get(suspect);
    return noted !== undefined && noted.atMs <= firstMs && firstMs - noted.atMs <= RECENT_MS ? noted : null;
  }

  /** For people. */
  textsOf(suspect: Suspect, firstMs: number): readonly string[] {
    const noted = this.before(suspect, firstMs);
    if (noted === null) return [];
    const seconds = Math.round((firstMs - noted.atMs) / 1_000);
    return [`${noted.what} ${String(seconds)} s before the first failure`];
  }

  census(): Census {
    const { copy } = this.#ports;
    const domains = new Set<string>();
    for (const [host] of copy.hosts.rows()) {
      const known = copy.hostOf(host);
      if (known !== undefined) for (const domain of domainsOf(known)) domains.add(domain);
    }
    const counts = { revision: copy.jobs.size, artifact: copy.jobs.size, registry: 3, host: copy.hosts.size };
    return {
      count: (kind) => Math.max(1, kind === 'domain' ? domains.size : counts[kind]),
      isRecent: (suspect, beforeMs) => this.before(suspect, beforeMs) !== null,
    };
  }

  /** A version that was replaced meanwhile too: what failed of it is still explained by it. */
  #submitted(suspect: Suspect): Noted | undefined {
    const revision = revisionOf(suspect);
    if (revision === null) return undefined;
    const { clock, copy } = this.#ports;
    const record = copy.recordOf(`${revision.namespace}/${revision.job}`, revision.version);
    if (record === undefined) return undefined;
    const ageMs = clock.nowMs() - record.submittedAtMs;
    return { atMs: clock.monotonicMs() - Math.max(0, ageMs), what: 'was submitted' };
  }

  #note(suspect: Suspect, noted: Noted): void {
    this.#noted.delete(suspect);
    this.#noted.set(suspect, noted);
    if (this.#noted.size <= CHANGES_MAX) return;
    const [oldest] = this.#noted.keys();
    if (oldest !== undefined) this.#noted.delete(oldest);
  }
}
