import fc from 'fast-check';
import { expect, it } from 'vitest';
import { StoreIdentity } from '../../../../src/adapters/store/identity.ts';
import type { StoreError } from '../../../../src/ports/cell-store.ts';

const cluster = '7';
const NOBODY = { onSnapshot: () => undefined, onChanges: () => undefined };

/** A store that only goes forward, and a client of it: calls are answered late and in any order, a lagging member reports the past. */
const happenings = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('write', 'ask', 'serve') }),
    fc.record({ kind: fc.constantFrom('answer', 'tell'), which: fc.nat(20) }),
  ),
  { maxLength: 60 },
);

it('late answers, answers that overtake each other and members that lag behind are no proof', () => {
  fc.assert(
    fc.property(happenings, (script) => {
      const faults: StoreError[] = [];
      const identity = new StoreIdentity((error) => faults.push(error));
      const follower = identity.following(NOBODY);
      let revision = 1;
      const asked: ReturnType<StoreIdentity['beginCall']>[] = [];
      const served: (() => void)[] = [];
      for (const happening of script) {
        if (happening.kind === 'write') revision += 1;
        else if (happening.kind === 'ask') asked.push(identity.beginCall());
        else if (happening.kind === 'serve') {
          const header = { cluster, revision };
          for (const answer of asked.splice(0)) served.push(() => answer(header));
        } else if ('which' in happening && happening.kind === 'answer')
          served.splice(happening.which % Math.max(1, served.length), 1)[0]?.();
        else if ('which' in happening) follower.onChanges([], Math.max(1, revision - happening.which));
      }
      expect(faults).toEqual([]);
    }),
  );
});

it('what is asked after a revision was known, and answered with an older one, is proof, and stays it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 1e9 }),
      fc.nat(),
      fc.constantFrom('answer', 'snapshot', 'change'),
      (known, back, by) => {
        const faults: StoreError[] = [];
        const identity = new StoreIdentity((error) => faults.push(error));
        const follower = identity.following(NOBODY);
        if (by === 'answer') identity.beginCall()({ cluster, revision: known });
        else if (by === 'change') follower.onChanges([], known);
        else follower.onSnapshot({ revision: known, entries: new Map() });
        const [late, asked] = [identity.beginCall(), identity.beginCall()];
        const older = { cluster, revision: known - 1 - (back % (known - 1)) };
        expect(() => asked(older)).toThrow(/gone back from revision/);
        for (const again of [() => identity.beginCall(), () => late({ cluster, revision: known + 1 })])
          expect(again).toThrow(/gone back from revision/);
        expect(faults).toHaveLength(1);
        expect(faults[0]).toMatchObject({ code: 'wrong-server', retryable: false });
      },
    ),
  );
});

it('another id is proof at any revision', () => {
  const identity = new StoreIdentity();
  identity.beginCall()({ cluster, revision: 5 });
  const asked = identity.beginCall();
  expect(() => asked({ cluster: '8', revision: 500 })).toThrow(/another cluster/);
});
