import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ClaimWindow } from '../../../../schedulers/commit/claim-window.ts';

/** Answers so many claims, one by one: of every hundred, the last `inConflict`. */
function answer(window: ClaimWindow, claims: number, inConflict: number): void {
  for (let n = 0; n < claims; n++) window.answered(1, n % 100 >= 100 - inConflict ? 1 : 0);
}

it('26 a scheduler whose claims land has its whole window; one that loses many has a small one, and its old one back when they land', () => {
  const window = new ClaimWindow();
  answer(window, 1_000, 0);
  const whole = window.claims;
  answer(window, 10_000, 1);
  expect(window.claims).toBeGreaterThan(whole / 2);
  answer(window, 1_000, 20);
  expect(window.claims).toBeLessThan(64);
  answer(window, 1_000, 0);
  expect(window.claims).toBe(whole);
});

it('26 conflicts that grow with the window settle at a few of a hundred', () => {
  const window = new ClaimWindow();
  let claims = 0;
  let conflicts = 0;
  const whole = window.claims;
  // As old as the claims before it are, as much of what it saw is taken: half, when the window is full.
  for (let debt = 0; claims < 20_000; claims++) {
    debt += window.claims / whole / 2;
    const isLost = debt >= 1;
    if (isLost) debt -= 1;
    window.answered(1, isLost ? 1 : 0);
    if (claims >= 10_000 && isLost) conflicts += 1;
  }
  expect(conflicts / 10_000).toBeGreaterThan(0.01);
  expect(conflicts / 10_000).toBeLessThan(0.05);
});

it('26 whatever is answered, the window stays within its bounds, and a plan at most halves or doubles it', () => {
  const answers = fc.array(
    fc
      .tuple(fc.integer({ min: 1, max: 4_096 }), fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([claims, share]) => ({ claims, conflicted: Math.round(claims * share) })),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(answers, (all) => {
      const window = new ClaimWindow();
      for (const { claims, conflicted } of all) {
        const before = window.claims;
        window.answered(claims, conflicted);
        expect(window.claims).toBeGreaterThanOrEqual(Math.max(8, Math.floor(before / 2)));
        expect(window.claims).toBeLessThanOrEqual(Math.min(new ClaimWindow().claims, 2 * before + 2));
      }
    }),
  );
});
