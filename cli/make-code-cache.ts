/**
 * Makes the code cache of the build for the Node that runs it, with its flags: `node [FLAGS] dist/cli/make-code-cache.cjs`. Each
 * part is loaded once; none does anything by being loaded.
 */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { makeCodeCache } from '../src/adapters/system/code-cache.ts';

const built = join(import.meta.dirname, '..');
const load = createRequire(import.meta.url);

makeCodeCache(join(built, 'code-cache'));
for (const file of readdirSync(join(built, 'chunks'))) if (file.endsWith('.cjs')) load(join(built, 'chunks', file));
