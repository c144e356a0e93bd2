import { expect, it } from 'vitest';
import { isCommandId } from '../../../../src/wire/api/exec-api.ts';

it.each(['look-1', 'a', 'A.b_c-9', 'x'.repeat(80)])('%.20s names a command', (text) => {
  expect(isCommandId(text)).toBe(true);
});

it.each(['', '.', '..', '../../livez', 'a/b', 'a?task=x', 'a#b', 'a\0b', '%2e', 'x'.repeat(81)])(
  'S4.13 %.20s names none, and leads to no other path of a host',
  (text) => {
    expect(isCommandId(text)).toBe(false);
  },
);
