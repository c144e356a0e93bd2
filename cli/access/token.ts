import { isOfCell, SCOPES } from '../../src/core/access/person.ts';
import { TOKEN_TTL_MAX_MS } from '../../src/core/access/token.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { TokenStatus } from '../../src/wire/access/token-api.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { printAnswer, printList } from '../output/output.ts';

export interface TokenFlags {
  readonly scope: string;
  readonly namespaces: readonly string[];
  readonly ttl: string;
}

/** Prints the token alone, so that it can be piped on. */
export async function createToken(context: Context, name: string, flags: TokenFlags): Promise<number> {
  const scope = SCOPES.find((one) => one === flags.scope);
  if (scope === undefined)
    throw usageError(
      `--scope ${flags.scope}: name one of ${SCOPES.join(', ')}`,
      'moorage token create --help',
    );
  const named = flags.namespaces.flatMap((text) => text.split(',')).filter((text) => text !== '');
  const wrong = named.find((namespace) => !isId(namespace));
  if (wrong !== undefined)
    throw usageError(`--namespaces: "${wrong}" is no name of a namespace`, 'moorage token create --help');
  if (named.length > 0 && isOfCell(scope))
    throw usageError(
      `a token of scope ${scope} is of all namespaces`,
      'leave --namespaces out, or use --scope submit',
    );
  const namespaces = named.length === 0 ? null : named;
  const api = await context.api();
  const made = await api.createToken({ name, scope, namespaces, ttlMs: ttlMsOf(flags.ttl) });
  await printAnswer(context, made, { name: made.id, text: () => `${made.token}\n` });
  if (context.output === 'table')
    context.terminal.err(
      `token ${made.id} for ${made.name}: scope ${made.scope}, ${namespacesText(made.namespaces)}, ` +
        `until ${timeText(made.endsAtMs)}; it is not shown again. Next: moorage login, where it is used\n`,
    );
  return EXIT.ok;
}

export async function listTokens(context: Context): Promise<number> {
  const answer = await (await context.api()).tokens();
  const nowMs = context.terminal.nowMs();
  await printList<TokenStatus>(context, {
    answer,
    rows: answer.tokens,
    columns: [
      { title: 'ID', cell: ({ id }) => id },
      { title: 'FOR', cell: ({ name }) => name },
      { title: 'SCOPE', cell: ({ scope }) => scope },
      { title: 'NAMESPACES', cell: ({ namespaces }) => namespaces?.join(',') ?? 'all' },
      { title: 'BY', cell: ({ createdBy }) => createdBy },
      { title: 'UNTIL', cell: ({ endsAtMs }) => (endsAtMs > nowMs ? timeText(endsAtMs) : 'ended') },
    ],
    nameOf: ({ id }) => id,
    empty: 'there are no tokens; next: moorage token create NAME --scope submit',
  });
  return EXIT.ok;
}

export async function revokeToken(context: Context, id: string): Promise<number> {
  await (await context.api()).revokeToken(id);
  context.terminal.out(`${id}\n`);
  return EXIT.ok;
}

export function namespacesText(namespaces: readonly string[] | null): string {
  if (namespaces === null) return 'all namespaces';
  return `${namespaces.length === 1 ? 'namespace' : 'namespaces'} ${namespaces.join(', ')}`;
}

export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

/** Tokens may count for longer than a job may take. */
function ttlMsOf(text: string): number {
  const days = /^(\d{1,3})d$/.exec(text)?.[1];
  const reading =
    days === undefined ? readDuration(text) : ({ ok: true, value: Number(days) * DAY_MS } as const);
  if (!reading.ok) throw usageError(`--ttl: ${reading.text}`, '--ttl 30d');
  if (reading.value > 0 && reading.value <= TOKEN_TTL_MAX_MS) return reading.value;
  throw usageError(`--ttl ${text}: from 1ms to ${String(TOKEN_TTL_MAX_MS / DAY_MS)}d`, '--ttl 30d');
}

const DAY_MS = 86_400_000;
