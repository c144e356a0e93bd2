import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { PROJECT_ROOT } from './cli.ts';

/** One import of a source file. `to` is a path from the project's root, or the name of a package. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** Text of each source file, by its path from the project's root. */
export type Sources = ReadonlyMap<string, string>;

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s+'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/g;

/** @returns the TypeScript files below these folders */
export function readSources(folders: readonly string[]): Sources {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(PROJECT_ROOT, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
      .map((entry) => relative(PROJECT_ROOT, join(entry.parentPath, entry.name))),
  );
  return new Map(paths.map((path) => [path, readFileSync(join(PROJECT_ROOT, path), 'utf8')]));
}

/** Every import of every file, of types too. */
export function importsOf(sources: Sources): Import[] {
  return [...sources].flatMap(([from, text]) =>
    [...text.matchAll(IMPORT)].map((match) => {
      const target = match[1] ?? match[2] ?? match[3] ?? '';
      return { from, to: target.startsWith('.') ? normalize(join(dirname(from), target)) : target };
    }),
  );
}

/** @returns the circles among these imports, each as the sorted names that reach one another */
export function circlesOf(imports: readonly Import[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to]);
  return stronglyConnected([...next.keys()], (name) => next.get(name) ?? []).map((circle) => circle.sort());
}

/** The imports between the folders that lie side by side in one folder, named by these folders. */
export function importsBetweenSiblings(imports: readonly Import[]): Import[] {
  return imports.flatMap(({ from, to }) => {
    const here = from.split('/');
    const there = to.split('/');
    const fork = here.findIndex((part, at) => part !== there[at]);
    // Where one of the two is a file of the common folder, no two folders are tied.
    if (fork < 0 || fork >= here.length - 1 || fork >= there.length - 1) return [];
    return [{ from: here.slice(0, fork + 1).join('/'), to: there.slice(0, fork + 1).join('/') }];
  });
}

/** Tarjan's algorithm (SIAM J. Computing 1972). @returns the components of two nodes or more, and nodes tied to themselves */
function stronglyConnected(nodes: readonly string[], next: (node: string) => readonly string[]): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): void => {
    index.set(node, index.size);
    low.set(node, index.get(node) ?? 0);
    stack.push(node);
    for (const other of next(node)) {
      if (!index.has(other)) visit(other);
      if (stack.includes(other)) low.set(node, Math.min(low.get(node) ?? 0, low.get(other) ?? 0));
    }
    if (low.get(node) !== index.get(node)) return;
    const component = stack.splice(stack.indexOf(node));
    if (component.length > 1 || next(node).includes(node)) found.push(component);
  };
  for (const node of nodes) if (!index.has(node)) visit(node);
  return found;
}

/** A folder of source files, with the file that tells what happens in it. */
export interface Room {
  readonly folder: string;
  /** The head: a file with the folder's own name, or the one that `heads` names. */
  readonly head: string;
  /** Files and folders beside the head. */
  readonly others: readonly string[];
}

/** @param heads of folders whose head has another name than the folder */
export function roomsOf(sources: Sources, heads: Readonly<Record<string, string>>): Room[] {
  const entries = new Map<string, Set<string>>();
  for (const path of sources.keys())
    for (let at = path; dirname(at) !== '.'; at = dirname(at))
      entries.set(dirname(at), (entries.get(dirname(at)) ?? new Set()).add(basename(at)));
  return [...entries].map(([folder, names]) => {
    const head = heads[folder] ?? `${basename(folder)}.ts`;
    return { folder, head: `${folder}/${head}`, others: [...names].filter((name) => name !== head) };
  });
}

/** The comment with which a file begins; empty when it begins with something else. */
export function headCommentOf(text: string): string {
  return /^\/\*\*[\s\S]*?\*\//.exec(text)?.[0] ?? '';
}
