import { HttpError } from '../../src/ports/http.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit.ts';
import type { Terminal } from './terminal.ts';

const EVERY_MS = 1_000;
/** Cursor to the corner, and everything below it away. */
const CLEAR = '\u001b[H\u001b[2J\u001b[3J';
/** Grows with every report of a host, whatever else it says. */
const CLOCKS: ReadonlySet<string> = new Set(['asOfMs']);

/**
 * Shows the same again whenever its answer is another one, until an interrupt: on a terminal in the place of what was there,
 * else one below the other, JSON as a line each (NDJSON). A cell that does not answer is told, and asked again.
 *
 * @param action prints one answer
 */
export async function watch(
  context: Context,
  action: (context: Context) => Promise<number> | number,
): Promise<number> {
  const { terminal, interrupted, output } = context;
  let before = '';
  let trouble = '';
  while (!interrupted.aborted) {
    try {
      const json = await captured(context, action, 'json');
      const now = withoutClocks(json);
      trouble = '';
      if (now !== before) {
        // Only then it is asked for in its form: a table shows ages, which are others each second.
        const text = output === 'json' ? `${oneLine(json)}\n` : await captured(context, action);
        if (terminal.columns !== null) terminal.out(CLEAR);
        else if (before !== '' && output !== 'json') terminal.out('\n');
        terminal.out(text);
        before = now;
      }
    } catch (error) {
      if (interrupted.aborted) break;
      if (!(error instanceof HttpError)) throw error;
      if (error.message !== trouble) terminal.err(`${error.message}; trying again\n`);
      trouble = error.message;
    }
    await terminal.sleep(EVERY_MS, interrupted);
  }
  return EXIT.ok;
}

async function captured(
  context: Context,
  action: (context: Context) => Promise<number> | number,
  output = context.output,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  const out: Terminal['out'] = (part) => {
    text += typeof part === 'string' ? part : decoder.decode(part, { stream: true });
  };
  // Members of a context may be getters of the one that it was made from.
  const own: Context = Object.create(context, {
    terminal: { value: { ...context.terminal, out } },
    output: { value: output },
  }) as Context;
  await action(own);
  return text;
}

function withoutClocks(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), (key, value: unknown) => (CLOCKS.has(key) ? undefined : value));
  } catch {
    return json;
  }
}

function oneLine(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json.trimEnd();
  }
}
