import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from '../../../../sim/mutants/mutants.ts';
import { PROJECT_ROOT } from '../../../support/cli.ts';

const sourceOf = (file: string): string => readFileSync(join(PROJECT_ROOT, file), 'utf8');

describe('planted bugs', () => {
  it('there are at least twenty of them, each under a name of its own', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(20);
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    '%s: what it changes stands exactly once in its file, and the change can be read',
    (_, { also, breaks, ...edit }) => {
      for (const { file, find, replace } of [edit, ...(also ?? [])]) {
        const source = sourceOf(file);
        expect(source.split(find).length - 1).toBe(1);
        const { diagnostics } = ts.transpileModule(
          source.replace(find, () => replace),
          { reportDiagnostics: true, compilerOptions: { target: ts.ScriptTarget.ES2023 } },
        );
        expect(diagnostics?.map(({ messageText }) => messageText)).toEqual([]);
      }
      expect(breaks.length).toBeGreaterThan(0);
    },
  );
});
