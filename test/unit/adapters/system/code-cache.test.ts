import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeCodeCache, useCodeCache } from '../../../../src/adapters/system/code-cache.ts';

const load = createRequire(import.meta.url);
let folder: string;
let part: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-code-'));
  part = join(folder, 'part-a1.cjs');
});
afterEach(() => {
  // Node's own table of loaders, as it was.
  delete load.extensions['.cjs'];
  rmSync(folder, { recursive: true });
});

/** As a process that has just started does. */
function loaded(): unknown {
  delete load.cache[part];
  return load(part);
}

function cache(source: string): string {
  writeFileSync(part, source);
  const made = makeCodeCache(join(folder, 'code-cache'));
  loaded();
  made.write();
  const [versions] = readdirSync(join(folder, 'code-cache'));
  return join(folder, 'code-cache', versions!, 'part-a1.cjs');
}

describe('code cache', () => {
  it('a part runs from what was compiled of it, not from its source', () => {
    cache('module.exports = 1;\n');
    useCodeCache(join(folder, 'code-cache'));
    // V8 compares the length alone, which is why the name of a part changes with what it holds.
    writeFileSync(part, 'module.exports = 2;\n');
    expect(loaded()).toBe(1);
  });

  it.each([
    ['of another source', 'module.exports = 10 + 1;\n', null],
    ['that is cut', 'module.exports = 11;\n', 20],
    ['that is empty', 'module.exports = 11;\n', 0],
  ])('a cache %s is not taken', (_what, source, bytes) => {
    const file = cache(bytes === null ? 'module.exports = 1;\n' : source);
    if (bytes !== null) writeFileSync(file, Buffer.alloc(bytes, 7));
    writeFileSync(part, source);
    useCodeCache(join(folder, 'code-cache'));
    expect(loaded()).toBe(11);
  });

  it('without a cache a part is loaded as ever, with what Node gives it', () => {
    writeFileSync(
      part,
      'module.exports = [__filename, __dirname, typeof require("node:fs").readFileSync];\n',
    );
    useCodeCache(join(folder, 'code-cache'));
    const plain = loaded();
    makeCodeCache(join(folder, 'code-cache'));
    expect(plain).toEqual([part, folder, 'function']);
    expect(loaded()).toEqual(plain);
  });
});
