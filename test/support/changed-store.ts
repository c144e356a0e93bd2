import type { CellStore } from '../../src/ports/cell-store.ts';

/** The same store, but for these of its calls. */
export function withCalls(store: CellStore, calls: Partial<CellStore>): CellStore {
  return new Proxy(store, {
    get: (target, name) => {
      const changed = Reflect.get(calls, name) as unknown;
      if (changed !== undefined) return changed;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
