import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of this package: the nearest one above that has its description. It is found from a source as from any file of
 * the build, which puts many sources into one file.
 */
export const PACKAGE_FOLDER = packageFolder();

/** The path of what the build made of a source, whether or not it is there: `cli/main.cjs`. */
export function builtFile(path: string): string {
  return join(PACKAGE_FOLDER, 'dist', path);
}

function packageFolder(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder))
    if (existsSync(join(folder, 'package.json')) || folder === dirname(folder)) return folder;
}
