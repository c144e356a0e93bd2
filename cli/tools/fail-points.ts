import { failPoints } from '../../src/runtime/faults/names.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';

/** All names, one on a line. */
export function listFailPoints({ terminal }: Context): number {
  terminal.out(
    failPoints()
      .map((name) => `${name}\n`)
      .join(''),
  );
  return EXIT.ok;
}
