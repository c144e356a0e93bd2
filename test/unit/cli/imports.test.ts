import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it, test } from 'vitest';

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
  const { files, packages } = loadedBy(join(root, 'cli', 'command-line.ts'));
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
  expect(files.size).toBeLessThanOrEqual(24);
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
    'jobs/run-once',
  ];
  for (const verb of [...light, 'jobs/stop']) {
    const { packages } = loadedBy(join(root, 'cli', `${verb}.ts`));
    for (const heavy of ['etcd3', 'fastify', 'undici', 'paseto', 'pino', 'prom-client'])
      expect(packages, verb).not.toContain(heavy);
  }
  for (const verb of light)
    expect(loadedBy(join(root, 'cli', `${verb}.ts`)).packages, verb).not.toContain('zod');
});

/** A file of the build, as the bundler tells of it. */
interface Chunk {
  readonly type: 'chunk' | 'asset';
  readonly fileName: string;
  /** The sources that lie in it. */
  readonly moduleIds: readonly string[];
  /** Files that are loaded with it. */
  readonly imports: readonly string[];
}

describe('the build', () => {
  let chunks: ReadonlyMap<string, Chunk>;

  beforeAll(async () => {
    const { href } = pathToFileURL(join(root, 'scripts', 'build.mjs'));
    const { commandLineGraph } = (await import(href)) as {
      commandLineGraph: () => Promise<readonly Chunk[]>;
    };
    const graph = await commandLineGraph();
    chunks = new Map(graph.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]));
  });

  /** The packages in all files that are loaded when the one that stands for a source is. */
  function packagesWith(source: string): Set<string> {
    const own = [...chunks.values()].find(({ moduleIds }) => moduleIds.includes(join(root, source)));
    if (own === undefined) throw new Error(`the build has no file for ${source}`);
    const waiting = [own];
    const seen = new Set<Chunk>();
    for (let chunk = waiting.pop(); chunk !== undefined; chunk = waiting.pop()) {
      if (seen.has(chunk)) continue;
      seen.add(chunk);
      waiting.push(...chunk.imports.flatMap((name) => chunks.get(name) ?? []));
    }
    const modules = [...seen].flatMap(({ moduleIds }) => moduleIds);
    return new Set(modules.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []));
  }

  it('help loads the command parser and no other package', () => {
    expect([...packagesWith('cli/command-line.ts')]).toEqual(['commander']);
  });

  it.each([
    'jobs/ps',
    'jobs/status',
    'jobs/why',
    'jobs/stop',
    'jobs/run-once',
    'cell/hosts',
    'cell/events',
    'tasks/logs',
  ])('%s, which asks a cell over HTTP, loads no package besides', (verb) => {
    const own = packagesWith(`cli/${verb}.ts`);
    const client = [
      ...packagesWith('src/clients/monitor-client.ts'),
      ...packagesWith('src/adapters/http/node-client.ts'),
    ];
    expect([...own, ...client].filter((name) => name !== 'commander')).toEqual([]);
  });

  it('has a code cache for the flags with which roles are started', async () => {
    const { href } = pathToFileURL(join(root, 'scripts', 'build.mjs'));
    const { FLAGS } = (await import(href)) as { FLAGS: readonly (readonly string[])[] };
    const starters = [
      'cli/dev/dev-cell.ts',
      'bench/cell/cell.ts',
      'packaging/systemd/moorage-scheduler@.service',
    ];
    for (const starter of starters) {
      const [flag] = /--max-semi-space-size=\d+/.exec(readFileSync(join(root, starter), 'utf8')) ?? [];
      expect(flag, starter).toBeDefined();
      expect(FLAGS, starter).toContainEqual([flag]);
    }
  });

  it('a role loads what it works with: the walk sees packages', () => {
    expect(packagesWith('cli/roles/scheduler.ts')).toContain('etcd3');
  });
});
