import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endOfRevision, eventPositionOf, isBefore } from '../../../../src/wire/api/event-position.ts';

describe('the place of an event', () => {
  it('is read from what the store did, and from nothing that a role said', () => {
    expect(eventPositionOf('480.1')).toEqual({ revision: 480, ordinal: 1 });
    expect(eventPositionOf('480')).toEqual(endOfRevision(480));
    for (const id of ['now', '', 'm1:480.1', 'batch-1:17.4', '480.', '480.1.2', '-1', `1${'0'.repeat(15)}.0`])
      expect(eventPositionOf(id)).toBeNull();
  });

  it('comes before another one by revision, then by ordinal; a revision alone is behind all of it', () => {
    const place = fc.record({ revision: fc.nat(9), ordinal: fc.nat(9) });
    fc.assert(
      fc.property(place, place, (a, b) => {
        const name = ({ revision, ordinal }: typeof a): string => `${String(revision)}.${String(ordinal)}`;
        expect(eventPositionOf(name(a))).toEqual(a);
        expect(isBefore(a, b)).toBe(a.revision * 10 + a.ordinal < b.revision * 10 + b.ordinal);
        expect(isBefore(a, endOfRevision(b.revision))).toBe(a.revision <= b.revision);
      }),
    );
  });
});
