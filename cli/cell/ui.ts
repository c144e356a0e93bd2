import { spawn } from 'node:child_process';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';

export interface UiFlags {
  readonly open: boolean;
  readonly login: boolean;
}

const TOKEN_TTL_MS = 24 * 3_600_000;

/** Prints where the page is. With a desktop a browser opens it. */
export async function ui(context: Context, { open, login }: UiFlags): Promise<number> {
  const [address = ''] = (await context.monitors()).monitors;
  const base = `${address.replace(/\/+$/, '')}/`;
  const url = login ? await withToken(context, base) : base;
  await printAnswer(context, { url }, { name: url, text: () => `${url}\n` });
  const { env, interactive } = context.terminal;
  if (open && interactive && isDesktop(env)) openBrowser(url);
  return EXIT.ok;
}

/** The token stands behind the `#`, where no server sees it. */
async function withToken(context: Context, base: string): Promise<string> {
  const api = await context.api();
  const { kind } = await api.whoAmI();
  if (kind === 'trusted') return base;
  if (kind === 'token')
    throw new CliError(EXIT.usage, 'who came with a token enters that one on the page', 'moorage ui');
  const request = { name: 'page', scope: 'operate', namespaces: null, ttlMs: TOKEN_TTL_MS } as const;
  return `${base}#token=${(await api.createToken(request)).token}`;
}

function isDesktop(env: Context['terminal']['env']): boolean {
  return process.platform === 'darwin' || (env['DISPLAY'] ?? env['WAYLAND_DISPLAY'] ?? '') !== '';
}

function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(program, [url], { detached: true, stdio: 'ignore' });
  // No such program: the address was printed.
  child.on('error', () => undefined);
  child.unref();
}
