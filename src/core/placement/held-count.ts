import { attributeOf, plainAttribute } from '../host/attributes.ts';
import type { Held } from './filters.ts';
import type { Host } from '../host/host.ts';
import type { Group } from '../cell/job.ts';

/** What a group holds, counted by host and by the attributes that its `distinct` and `spread` speak of. */
export class HeldCount implements Held {
  readonly byHost = new Map<string, number>();
  readonly byValue = new Map<string, Map<string, number>>();
  readonly shares: readonly (ReadonlyMap<string, number> | null)[];

  /** @param shares as the selection has them; needed where the group's spread has targets */
  constructor(group: Group, shares: readonly (ReadonlyMap<string, number> | null)[] = []) {
    this.shares = shares;
    for (const name of [...group.distinct, ...group.spread.map((spread) => spread.attribute)])
      this.byValue.set(plainAttribute(name), new Map());
  }

  add(host: Host): void {
    this.byHost.set(host.id, (this.byHost.get(host.id) ?? 0) + 1);
    for (const [name, counts] of this.byValue) {
      const value = attributeOf(host, name);
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
}
