import type { HttpClient } from '../../src/ports/http.ts';
import { isSuccess } from '../../src/clients/clients.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';

const TIMEOUT_MS = 3_000;

interface Answered {
  readonly url: string;
  /** What the role says; null: it does not answer. */
  readonly text: string | null;
  readonly ok: boolean;
}

/**
 * Asks roles whether they are ready, or only whether they live: what a supervisor of containers runs inside one.
 *
 * @param urls of any role; empty: the cell's monitors
 * @param live a role whose store is away lives, and is not ready
 */
export async function health(
  context: Context,
  urls: readonly string[],
  { live }: { readonly live: boolean },
): Promise<number> {
  const { http, addresses } = await context.http();
  const path = live ? '/livez' : '/readyz?verbose=true';
  const answers = await Promise.all(
    (urls.length === 0 ? addresses : urls).map((url) => ask(http, url, path)),
  );
  if (context.output === 'json') context.terminal.out(`${JSON.stringify(answers, null, 2)}\n`);
  else for (const one of answers) context.terminal.out(`${one.url}: ${one.text ?? 'does not answer'}\n`);
  if (answers.some(({ text }) => text === null)) return EXIT.unreachable;
  return answers.every(({ ok }) => ok) ? EXIT.ok : EXIT.workloadFailed;
}

async function ask(http: HttpClient, url: string, path: string): Promise<Answered> {
  try {
    const call = { method: 'GET', url: `${url.replace(/\/+$/, '')}${path}`, timeoutMs: TIMEOUT_MS } as const;
    const answer = await http.call(call);
    const text = typeof answer.body === 'string' ? answer.body.trim() : JSON.stringify(answer.body);
    return { url, text, ok: isSuccess(answer) };
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return { url, text: null, ok: false };
  }
}
