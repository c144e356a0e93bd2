import type { AllocationReport } from '../src/core/host/report.ts';
import type { NamespaceAmounts } from '../src/core/quota/amounts.ts';
import { amountsOf, NamespaceSums } from '../src/core/quota/amounts.ts';

/** What hosts report as in use, by namespace: every allocation that is not released, whatever its state. */
export class UsageBook {
  readonly #sums = new NamespaceSums();

  used(namespace: string): NamespaceAmounts {
    return this.#sums.get(namespace);
  }

  namespaces(): IterableIterator<string> {
    return this.#sums.names();
  }

  onReport(report: AllocationReport, previous: AllocationReport | undefined): void {
    if (previous !== undefined) this.onGone(previous);
    if (!report.released) this.#sums.change(report.namespace, amountsOf(report), 1);
  }

  onGone(previous: AllocationReport): void {
    if (!previous.released) this.#sums.change(previous.namespace, amountsOf(previous), -1);
  }
}
