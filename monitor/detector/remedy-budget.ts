import { takeRemedy } from '../../src/core/detector/remedies.ts';
import type { Remedy, RemedyPolicy } from '../../src/core/detector/remedies.ts';
import type { Verdict } from '../../src/core/detector/verdict.ts';
import { changeRecord } from '../../src/runtime/records/change-record.ts';
import { remedyBudgetCodec } from '../../src/wire/verdicts/verdict-records.ts';
import type { MonitorContext } from '../context.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';

/**
 * How many remedies the cell has had within an hour, in one record that is changed by compare before a remedy is applied:
 * whatever monitors do at once, the policy's `perHourMax` holds (I75).
 */
export class RemedyBudget {
  readonly #ports: Pick<MonitorContext, 'store' | 'keys' | 'clock'>;

  constructor(ports: Pick<MonitorContext, 'store' | 'keys' | 'clock'>) {
    this.#ports = ports;
  }

  /** For this remedy of this verdict; to take twice counts once. @returns false: it has to wait */
  take(policy: RemedyPolicy, verdict: Verdict, remedy: Remedy): Promise<boolean> {
    const nowMs = Math.round(this.#ports.clock.nowMs());
    return this.#change((taken) => takeRemedy(policy, taken, nameOf(verdict, remedy), nowMs));
  }

  /** The remedy was refused, and cost nobody anything. */
  async giveBack(verdict: Verdict, remedy: Remedy): Promise<void> {
    const name = nameOf(verdict, remedy);
    await this.#change((taken) =>
      Object.fromEntries(Object.entries(taken).filter(([other]) => other !== name)),
    );
  }

  /** @param next null: it is left. @returns whether it holds */
  async #change(
    next: (taken: Readonly<Record<string, number>>) => Readonly<Record<string, number>> | null,
  ): Promise<boolean> {
    const { store, keys } = this.#ports;
    const change = await changeRecord(store, keys.remedyBudget, remedyBudgetCodec, (known) => {
      const takenAtMs = next(known?.takenAtMs ?? {});
      return takenAtMs === null ? null : { takenAtMs };
    });
    if (change.kind === 'unknown') throw outcomeUnknown('it is tried again: twice counts once');
    if (change.kind === 'contended')
      throw refuse(409, 'contended', 'other monitors are taking of the same budget; try again');
    return change.kind === 'written';
  }
}

function nameOf({ suspect, times }: Verdict, remedy: Remedy): string {
  return `${suspect} ${String(times)} ${remedy}`;
}
