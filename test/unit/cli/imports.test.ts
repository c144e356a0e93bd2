import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..', '..', '..');

/** All files and packages that are loaded before the first verb runs: static imports of values, and theirs. */
function loadedBy(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const match of readFileSync(file, 'utf8').matchAll(
      /^(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s+)?'([^']+)';/gms,
    )) {
      const name = match[1] ?? '';
      if (name.startsWith('.')) waiting.push(join(dirname(file), name));
      else packages.add(name);
    }
  }
  return { files, packages };
}

test('help loads the command parser and nothing heavy', () => {
  const { files, packages } = loadedBy(join(root, 'cli', 'main.ts'));
  expect([...files].every((file) => existsSync(file))).toBe(true);
  expect([...packages].filter((name) => !name.startsWith('node:'))).toEqual(['commander']);
  // Besides the verbs themselves, only rules without packages: names of kinds, bounds and the like.
  const rooms = [
    join(root, 'cli'),
    join(root, 'src', 'core'),
    join(root, 'src', 'wire', 'values', 'bounds.ts'),
  ];
  expect([...files].filter((file) => !rooms.some((room) => file.startsWith(room)))).toEqual([]);
  // Each of them costs a read and a compile before the first letter is shown.
  expect(files.size).toBeLessThanOrEqual(20);
});

test('verbs that ask a cell load no store, no server and no schema library', () => {
  const light = [
    'jobs/ps',
    'jobs/status',
    'jobs/why',
    'cell/hosts',
    'cell/schedulers',
    'cell/events',
    'tasks/logs',
  ];
  for (const verb of [...light, 'jobs/stop']) {
    const { packages } = loadedBy(join(root, 'cli', `${verb}.ts`));
    for (const heavy of ['etcd3', 'fastify', 'undici', 'paseto', 'pino', 'prom-client'])
      expect(packages, verb).not.toContain(heavy);
  }
  for (const verb of light)
    expect(loadedBy(join(root, 'cli', `${verb}.ts`)).packages, verb).not.toContain('zod');
});
