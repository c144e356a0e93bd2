import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from './cli.ts';

/** What `scripts/build.mjs` offers of it. */
interface Build {
  readonly bundle: (what: {
    readonly entries: readonly string[];
    readonly dir: string;
    readonly chunks: string;
    readonly replaced: ReadonlyMap<string, string>;
  }) => Promise<unknown>;
}

/** A change of one source file. */
export interface PlantedBug {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * Runs a program of the tests to its end, in a process of its own in which nothing ran before. It is bundled first: to load
 * its sources one by one takes longer than most of them run.
 * @param entry its source, from the project's folder on, without `.ts`
 * @param planted changes of the sources, made for this run alone
 * @returns what it wrote
 * @throws when a text to be replaced is not there, or the program fails
 */
export async function runBundled(
  entry: string,
  args: readonly string[],
  planted: readonly PlantedBug[] = [],
): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'moorage-bundled-'));
  try {
    const { href } = pathToFileURL(join(PROJECT_ROOT, 'scripts', 'build.mjs'));
    const { bundle } = (await import(href)) as Build;
    await bundle({ entries: [entry], dir, chunks: 'chunks', replaced: new Map(planted.map(changed)) });
    const { stdout } = await promisify(execFile)(process.execPath, [join(dir, `${entry}.js`), ...args]);
    return stdout;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function changed({ file, find, replace }: PlantedBug): [string, string] {
  const source = readFileSync(join(PROJECT_ROOT, file), 'utf8');
  if (!source.includes(find)) throw new Error(`nothing to plant in ${file}`);
  return [file, source.replace(find, () => replace)];
}
