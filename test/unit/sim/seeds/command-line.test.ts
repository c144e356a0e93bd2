import { expect, it } from 'vitest';
import { THEMES } from '../../../../sim/suite/suite.ts';
import { readSeedsOrder } from '../../../../sim/seeds/command-line.ts';

const read = (line: string) => readSeedsOrder(line === '' ? [] : line.split(' '), 2);

it('says what is to be run', () => {
  expect(read('')).toEqual({
    setting: { theme: undefined, everyMs: undefined },
    ...{ from: 1, to: 200, minutes: null, minutesMax: null, workers: 2, keepGoing: false },
  });
  const line = '--seeds 3..4 --theme race --minutes 1.5 --minutes-max 2 --workers 9 --keep-going';
  expect(read(line)).toEqual({
    setting: { theme: 'race', everyMs: undefined },
    ...{ from: 3, to: 4, minutes: 1.5, minutesMax: 2, workers: 9, keepGoing: true },
  });
  expect(read('--every 500')).toMatchObject({ setting: { everyMs: 500 } });
  expect(read('--calm')).toMatchObject({ setting: { everyMs: null } });
});

it('names all themes to who asks for one that there is not', () => {
  expect(read('--theme nope')).toEqual({ wrong: `there is no theme nope; there are ${THEMES.join(', ')}` });
});

it.each([
  ['--seeds 1-2', /FROM\.\.TO/],
  ['--seeds 5..4', /FROM\.\.TO/],
  ['--workers none', /--workers none/],
  ['--workers 0', /--workers 0/],
  ['--minutes x', /--minutes x/],
  ['--every 0', /--every 0/],
  ['--sedes 1..2', /--sedes/],
])('%s is told in one sentence', (line, wrong) => {
  const order = read(line);
  expect('wrong' in order && order.wrong).toMatch(wrong);
});
