import { describe, expect, it } from 'vitest';
import type { Context } from '../../../../cli/command/context.ts';
import { watch } from '../../../../cli/command/watch.ts';
import type { Terminal } from '../../../../cli/command/terminal.ts';
import { HttpError } from '../../../../src/ports/http.ts';

interface Shown {
  readonly out: string;
  readonly err: string;
}

/** Shows each answer in turn, and is interrupted after the last one. */
async function watched(
  answers: readonly (object | Error)[],
  { output = 'table', columns = null }: { output?: Context['output']; columns?: number | null } = {},
): Promise<Shown> {
  const interrupt = new AbortController();
  let [out, err, round] = ['', '', 0];
  const terminal = {
    columns,
    out: (text: string) => (out += text),
    err: (text: string) => (err += text),
    sleep: async () => {
      round += 1;
      if (round === answers.length) interrupt.abort();
    },
  } as unknown as Terminal;
  const context = { terminal, output, wide: false, interrupted: interrupt.signal } as unknown as Context;
  const code = await watch(context, ({ terminal: own, output: form }) => {
    const answer = answers[round];
    if (answer instanceof Error) throw answer;
    own.out(form === 'json' ? JSON.stringify(answer, null, 2) : `table ${String(round)}\n`);
    return 0;
  });
  expect(code).toBe(0);
  return { out, err };
}

describe('28 --watch', () => {
  it('shows an answer again only when it is another one, whatever hosts say of their clocks', async () => {
    const answers = [
      { n: 1, asOfMs: 1 },
      { n: 1, asOfMs: 2 },
      { n: 2, asOfMs: 2 },
    ];
    expect((await watched(answers)).out).toBe('table 0\n\ntable 2\n');
  });

  it('prints JSON as a line each', async () => {
    const { out } = await watched([{ n: 1 }, { n: 1 }, { n: 2 }], { output: 'json' });
    expect(out).toBe('{"n":1}\n{"n":2}\n');
  });

  it('writes over what was there on a terminal', async () => {
    const { out } = await watched([{ n: 1 }, { n: 2 }], { columns: 80 });
    expect(out.split('\u001b[H')).toHaveLength(3);
  });

  it('tells once that nobody answers, and goes on', async () => {
    const away = new HttpError('cannot reach it', { sent: false });
    const { out, err } = await watched([{ n: 1 }, away, away, { n: 2 }]);
    expect(out).toBe('table 0\n\ntable 3\n');
    expect(err).toBe('cannot reach it; trying again\n');
  });
});
