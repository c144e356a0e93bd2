import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CellStore, StoreError } from '../../src/ports/cell-store.ts';
import { Recorder } from './cell-store.ts';

export interface RestorableStore {
  /** A new client. */
  open(onWrongServer?: (error: StoreError) => void): CellStore;
  /** Ends in a slash; nothing else is under it. */
  readonly prefix: string;
  save(): Promise<void>;
  /** The server becomes what was saved, under the same id; connections to the former one are cut. */
  goBack(): Promise<void>;
  close(): Promise<void>;
}

/** More than a server writes of its own accord while it starts. */
const WRITES = 40;

/** What every cell store must do when its server is restored from a snapshot and keeps its id. */
export function restoredStoreContract(name: string, make: () => Promise<RestorableStore>): void {
  describe(`cell store contract, the store goes back: ${name}`, () => {
    let at: RestorableStore;
    beforeEach(async () => (at = await make()));
    afterEach(() => at.close());

    const put = (store: CellStore, rest: string, value: string) =>
      store.attempt({
        compares: [],
        writes: [{ kind: 'put', key: at.prefix + rest, value }],
        readBack: [],
      });
    const rejection = (call: Promise<unknown>): Promise<unknown> =>
      call.then(
        () => 'answered',
        (error: unknown) => error,
      );
    /** A store that has been cut off says so first. */
    const lastFault = async (call: () => Promise<unknown>): Promise<unknown> => {
      for (;;) {
        const fault = await rejection(call());
        if ((fault as Partial<StoreError>).retryable !== true) return fault;
      }
    };

    it('I54 whoever knew more is told once, and is refused from then on; who knew no more goes on', async () => {
      const told: StoreError[] = [];
      const [writer, reader] = [at.open((error) => told.push(error)), at.open((error) => told.push(error))];
      await put(writer, 'a', 'kept');
      await at.save();
      for (let n = 0; n < WRITES; n++) await put(writer, 'a', String(n));
      // The one by its own commits, the other by what it read.
      await reader.read([]);
      const follower = at.open((error) => told.push(error));
      const seen = new Recorder();
      await follower.follow(at.prefix, seen).ready;
      await at.goBack();

      const gone = {
        code: 'wrong-server',
        retryable: false,
        message: expect.stringMatching(/moorage restored/) as string,
      };
      expect(await lastFault(() => writer.attempt({ compares: [], writes: [], readBack: [] }))).toMatchObject(
        gone,
      );
      expect(await lastFault(() => reader.list(at.prefix))).toMatchObject(gone);
      expect(await lastFault(() => follower.openSession({ ttlMs: 5_000 }))).toMatchObject(gone);
      expect(told).toHaveLength(3);

      const later = at.open((error) => told.push(error));
      const { entries } = await later.list(at.prefix);
      expect([...entries.values()].map(({ value }) => value)).toEqual(['kept']);
      // Past all that was known: the revision alone would no longer tell.
      for (let n = 0; n < 2 * WRITES; n++) await put(later, 'b', String(n));
      for (const store of [writer, reader, follower]) {
        expect(await rejection(store.read([]))).toMatchObject(gone);
        expect(await rejection(put(store, 'a', 'from before'))).toMatchObject(gone);
      }
      expect(told).toHaveLength(3);
      expect((await later.read([`${at.prefix}a`])).entries.get(`${at.prefix}a`)?.value).toBe('kept');
      expect(seen.snapshots).toHaveLength(1);
    });
  });
}
