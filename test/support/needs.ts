import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { describe, it } from 'vitest';

/**
 * Tests that need more than Node: another program, root, a kernel's feature. Where it is missing they are skipped, and
 * say so; where everything must be there (`MOORAGE_REQUIRE_ALL=1`, as in `.ci/run`) they fail instead, so that a check
 * that never ran cannot pass for one that did.
 *
 * @param missing why the tests cannot run here; null when they can
 */
export function describeNeeding(missing: string | null, name: string, body: () => void): void {
  if (missing === null) {
    describe(name, body);
    return;
  }
  if (process.env['MOORAGE_REQUIRE_ALL'] === '1') {
    describe(name, () => {
      it('can run here', () => {
        throw new Error(`everything must be tested here, and this cannot be: ${missing}`);
      });
    });
    return;
  }
  tellSkipped(name, missing);
  describe.skip(`${name} (skipped: ${missing})`, body);
}

/** At once, and for the last line of `npm test`, which names all that was skipped (`scripts/test.mjs`). */
function tellSkipped(name: string, missing: string): void {
  process.stderr.write(`SKIPPED ${name}: ${missing}\n`);
  const list = process.env['MOORAGE_SKIPPED'];
  if (list !== undefined) appendFileSync(list, `${JSON.stringify({ name, missing })}\n`);
}

/** @returns the first thing that is missing; null when nothing is */
export function firstMissing(...needs: readonly (string | null)[]): string | null {
  return needs.find((need) => need !== null) ?? null;
}

/** @returns why not; null when the program is in the PATH */
export function program(name: string): string | null {
  const found = spawnSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' }).status === 0;
  return found ? null : `there is no program ${name} here`;
}

/** @returns why not; null for root */
export function root(): string | null {
  return process.getuid?.() === 0 ? null : 'it needs root';
}

/**
 * One test that needs what not every good machine has: v1 cgroups, where others have v2 alone. Skipped with a word, never
 * failed for its absence.
 */
export function itWhere(missing: string | null, name: string, body: () => void | Promise<void>): void {
  if (missing === null) return void it(name, body);
  tellSkipped(name, missing);
  it.skip(`${name} (skipped: ${missing})`, body);
}
