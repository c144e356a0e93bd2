/**
 * The code cache of the build: what V8 compiled of its parts when they were loaded for the first time, so that later
 * processes read it instead of compiling again. A part without one, and one that this V8 does not take (it looks at its version, its
 * flags and the length of the source), is compiled as ever.
 *
 * https://v8.dev/blog/code-caching-for-devs
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, wrap } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { Script } from 'node:vm';

type Loader = (module: NodeJS.Module, file: string) => void;
/** What Node makes of a file before it runs it, as a function. */
type Compiled = (...given: readonly unknown[]) => void;

const { extensions } = createRequire(import.meta.url);

/**
 * From now on, the CommonJS parts of the build (`.cjs`, whose names change with what they hold) are loaded with what `folder` has of them.
 * @param folder of all versions of Node and their flags
 */
export function useCodeCache(folder: string): void {
  const ours = folderOfThisNode(folder);
  const usual = extensions['.js'] as Loader;
  extensions['.cjs'] = (module, file) => {
    const cachedData = readIfThere(join(ours, basename(file)));
    // Node's own way, where `import()` too works.
    if (cachedData === null) usual(module, file);
    else run(module, file, compile(file, cachedData));
  };
}

/**
 * From now on, each CommonJS part of the build is compiled when it is loaded.
 * @returns writes to `folder` what V8 has compiled of them by then: it compiles a function when it is called
 * @throws a file fault
 */
export function makeCodeCache(folder: string): { write(): void } {
  const scripts = new Map<string, Script>();
  extensions['.cjs'] = (module, file) => {
    const script = compile(file);
    scripts.set(basename(file), script);
    run(module, file, script);
  };
  const ours = folderOfThisNode(folder);
  return {
    write: () => {
      mkdirSync(ours, { recursive: true });
      for (const [name, script] of scripts) writeWhole(join(ours, name), script.createCachedData());
    },
  };
}

/** Whole or not at all: V8 does not look at what is within. */
function writeWhole(file: string, bytes: Buffer): void {
  const unready = `${file}.${String(process.pid)}`;
  writeFileSync(unready, bytes);
  renameSync(unready, file);
}

/** V8 takes only what one of the same version with the same flags made. */
function folderOfThisNode(folder: string): string {
  const options = process.env['NODE_OPTIONS']?.split(' ') ?? [];
  const flags = [...process.execArgv, ...options].filter((flag) => flag !== '');
  return join(folder, [process.version, process.arch, ...flags].join(' ').replaceAll('/', '_'));
}

function readIfThere(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
}

function compile(file: string, cachedData?: Buffer): Script {
  const source = wrap(readFileSync(file, 'utf8'));
  return new Script(source, { filename: file, ...(cachedData === undefined ? {} : { cachedData }) });
}

function run(module: NodeJS.Module, file: string, script: Script): void {
  const compiled = script.runInThisContext() as Compiled;
  compiled.call(module.exports, module.exports, createRequire(file), module, file, dirname(file));
}
