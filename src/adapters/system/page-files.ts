import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { PageFile, PageFiles } from '../../ports/page.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** What the build made of the page: each file, and beside it the same compressed. Empty when it was not built. */
export function readPageFiles(folder: string): PageFiles {
  if (!existsSync(folder)) return new Map();
  const names = readdirSync(folder).filter((name) => TYPES[extname(name)] !== undefined);
  return new Map(names.map((name) => [name, pageFile(folder, name)]));
}

function pageFile(folder: string, name: string): PageFile {
  return {
    contentType: TYPES[extname(name)] ?? '',
    plain: readFileSync(join(folder, name)),
    gzip: readFileSync(join(folder, `${name}.gz`)),
  };
}
