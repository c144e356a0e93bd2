import { readFileSync } from 'node:fs';

/** From the package's own description, which lies two folders up in the sources and three in the build. */
export const VERSION = readVersion();

function readVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const description = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as {
        version?: string;
      };
      if (description.version !== undefined) return description.version;
    } catch {
      // The other place has it.
    }
  }
  return 'unknown';
}
