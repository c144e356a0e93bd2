import type { Alarm, AlarmKind } from '../../src/wire/api/cell-api.ts';

/** Something that is so now, and is an alarm when it has been so for long. */
export interface Condition extends Pick<Alarm, 'kind' | 'subject' | 'detail'> {
  /** For how long it must have been so. */
  readonly afterMs: number;
}

export interface Instant {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

interface Held {
  readonly kind: AlarmKind;
  readonly subject: string;
  readonly since: Instant;
  detail: string;
  stands: boolean;
}

/** Since when each condition has held without a break, and which have held for so long that they are alarms. */
export class HeldConditions {
  readonly #held = new Map<string, Held>();

  /**
   * @param conditions all that hold now; what is not among them has ended
   * @returns alarms that begin and end with this
   */
  update(
    conditions: Iterable<Condition>,
    now: Instant,
  ): { readonly begun: readonly Alarm[]; readonly over: readonly Alarm[] } {
    const begun: Alarm[] = [];
    const seen = new Set<string>();
    for (const { kind, subject, detail, afterMs } of conditions) {
      const key = nameOf({ kind, subject });
      seen.add(key);
      const held = this.#held.get(key) ?? { kind, subject, detail, since: now, stands: false };
      this.#held.set(key, held);
      // Of one that stands somebody may have found out more since.
      if (!held.stands) held.detail = detail;
      if (held.stands || now.monotonicMs - held.since.monotonicMs < afterMs) continue;
      held.stands = true;
      begun.push(alarmOf(held));
    }
    const over: Alarm[] = [];
    for (const [key, held] of this.#held) {
      if (seen.has(key)) continue;
      this.#held.delete(key);
      if (held.stands) over.push(alarmOf(held));
    }
    return { begun, over };
  }

  /** The alarm has another reason now. */
  explain(alarm: Alarm, detail: string): void {
    const held = this.#held.get(nameOf(alarm));
    if (held !== undefined) held.detail = detail;
  }

  /** The oldest first. */
  standing(): readonly Alarm[] {
    const standing = [...this.#held.values()].filter(({ stands }) => stands).map(alarmOf);
    return standing.sort((a, b) => a.sinceMs - b.sinceMs || a.subject.localeCompare(b.subject));
  }
}

/** No two alarms have the same. */
export function nameOf({ kind, subject }: Pick<Alarm, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`;
}

function alarmOf({ kind, subject, since, detail }: Held): Alarm {
  return { kind, subject, sinceMs: since.wallMs, detail };
}
