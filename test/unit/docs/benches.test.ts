import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_ROOT } from '../../support/cli.ts';

/** Those that read options, as in `scripts/bench.mjs`. */
function benches(): Set<string> {
  const folder = join(PROJECT_ROOT, 'bench');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  return new Set(
    files
      .filter((file) => readFileSync(join(folder, file), 'utf8').includes('= flagsOf('))
      .map((file) => basename(file, '.ts')),
  );
}

it('each bench that performance.md names is there', () => {
  const text = readFileSync(join(PROJECT_ROOT, 'docs', 'performance.md'), 'utf8');
  const named = [...text.matchAll(/npm run bench --\s+([a-z0-9-]+)/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(10);
  const there = benches();
  expect(named.filter((name) => !there.has(name))).toEqual([]);
});
