import type { Endpoint } from '../../src/core/names/endpoints.ts';
import type { NameChange } from '../../src/wire/api/names-api.ts';
import { clockTime } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { endWithReader } from '../command/reader-gone.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { followNames, wholeName } from './follow.ts';

export interface ListNamesOptions {
  readonly watch: boolean;
  readonly all: boolean;
}

/** @param typed null: all names. @throws ProblemError `no-such-name` */
export async function listNames(
  context: Context,
  typed: string | null,
  { watch, all }: ListNamesOptions,
): Promise<number> {
  const name = typed === null ? null : wholeName(context, typed);
  const api = await context.api();
  const namespace = all ? {} : { namespace: context.namespace };
  if (name !== null) {
    // A name of nothing is an error at once, followed or not.
    const answer = await api.name(name);
    if (!watch) await show(context, answer, [answer], answer.incomplete);
  } else if (!watch) {
    const answer = await api.names(namespace.namespace);
    await show(context, answer, answer.names, answer.incomplete);
  }
  if (!watch) return EXIT.ok;
  endWithReader();
  for await (const change of followNames(context, name === null ? namespace : { name }))
    context.terminal.out(lineOf(context, change));
  return EXIT.ok;
}

interface Row {
  readonly name: string;
  readonly endpoint: Endpoint | null;
}

async function show(
  context: Context,
  answer: unknown,
  names: readonly { readonly name: string; readonly endpoints: readonly Endpoint[] }[],
  incomplete: boolean,
): Promise<void> {
  const rows = names.flatMap(({ name, endpoints }): Row[] =>
    endpoints.length === 0 ? [{ name, endpoint: null }] : endpoints.map((endpoint) => ({ name, endpoint })),
  );
  await printList(context, {
    answer,
    rows,
    columns: COLUMNS,
    nameOf: ({ name }) => name,
    empty: 'no job here has a port, and so a name; give a group one with: ports: { http: auto }',
  });
  if (incomplete) context.terminal.err('not every host has reported yet: there may be more\n');
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'ENDPOINT', cell: ({ endpoint }) => (endpoint === null ? 'none' : placeOf(endpoint)) },
  { title: 'HOST', cell: ({ endpoint }) => endpoint?.host ?? '' },
  {
    title: 'INDEX',
    cell: ({ endpoint }) => (endpoint === null ? '' : String(endpoint.index)),
    align: 'right',
  },
  { title: 'ALLOCATION', cell: ({ endpoint }) => endpoint?.allocation ?? '' },
  {
    title: 'STALE SINCE',
    cell: ({ endpoint }) => (endpoint?.staleSinceMs === undefined ? '' : clockTime(endpoint.staleSinceMs)),
  },
];

function placeOf({ address, port }: Endpoint): string {
  return address.includes(':') ? `[${address}]:${String(port)}` : `${address}:${String(port)}`;
}

function lineOf({ terminal, output }: Context, { name, known, endpoints }: NameChange): string {
  if (output === 'name') return `${name}\n`;
  if (output !== 'table') return `${JSON.stringify({ name, known, endpoints })}\n`;
  const served =
    endpoints.length === 0 ? (known ? 'none' : 'no such name') : endpoints.map(placeOf).join(' ');
  return `${clockTime(terminal.nowMs())}  ${name}  ${served}\n`;
}
