import { labelled } from '../../../src/core/host/attributes.ts';
import type { Host } from '../../../src/core/host/host.ts';
import { canonicalJson } from '../../../src/core/json/canonical-json.ts';
import type { CellAt, Step } from '../replay/replay.ts';

interface Earlier {
  readonly host: Host | undefined;
  readonly untilMs: number;
}

/** What hosts were before what they said of themselves, or operators of them, was another: who acts may not know it yet. */
export class EarlierHosts {
  readonly #now = new Map<string, Host | undefined>();
  readonly #earlier = new Map<string, readonly Earlier[]>();

  /** After `cell` has taken the step. */
  apply({ changed }: Step, cell: CellAt, atMs: number): void {
    for (const { name } of [...changed.hosts, ...changed.eligibility]) {
      const isKnown = this.#now.has(name);
      const before = this.#now.get(name);
      const host = hostIn(cell, name);
      this.#now.set(name, host);
      if (!isKnown || canonicalJson(before?.attributes ?? null) === canonicalJson(host?.attributes ?? null))
        continue;
      this.#earlier.set(name, [...(this.#earlier.get(name) ?? []), { host: before, untilMs: atMs }]);
    }
  }

  /** As it is, and as it was at that time or later. */
  since(cell: CellAt, name: string, sinceMs: number): readonly (Host | undefined)[] {
    const earlier = (this.#earlier.get(name) ?? []).filter(({ untilMs }) => untilMs >= sinceMs);
    return [hostIn(cell, name), ...earlier.map(({ host }) => host)];
  }
}

function hostIn(cell: CellAt, name: string): Host | undefined {
  const host = cell.hosts.get(name);
  return host === undefined ? undefined : labelled(host, cell.eligibility.get(name)?.labels);
}
