/**
 * The cell as the page reaches it: by the client of the monitors' API, with the viewer's own token.
 *
 * - `session.ts` keeps the token; `fetch-client.ts` makes the calls of a browser
 * - `link.ts`: which monitors there are, and which answer; `MonitorClient` asks one after the other
 * - `feed.ts`: events, live; `polled.ts`: what is loaded again and again
 * - `signal.ts`: a value that views follow
 */
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { WhoAmI } from '../../src/wire/access/token-api.ts';
import { Feed } from './feed.ts';
import { fetchClient } from './fetch-client.ts';
import { Link } from './link.ts';

export interface Cell {
  readonly client: MonitorClient;
  readonly link: Link;
  readonly feed: Feed;
  readonly me: WhoAmI;
}

export type Entry =
  { readonly kind: 'in'; readonly cell: Cell } | { readonly kind: 'refused'; readonly why: string | null };

/**
 * @param token null: the cell may ask nobody who calls
 * @returns `refused` without a reason: it asks for a token
 * @throws HttpError no monitor answers
 */
export async function enter(home: string, token: string | null): Promise<Entry> {
  const link = new Link(home);
  const http = fetchClient({
    token: () => token,
    onOutcome: (origin, answered) => link.outcome(origin, answered),
  });
  const client = new MonitorClient(http, { urls: link.urls, from: 'this page' });
  try {
    const me = await client.whoAmI();
    const { monitors = [] } = await client.cell();
    link.learn(monitors.map(({ address }) => address));
    return { kind: 'in', cell: { client, link, me, feed: new Feed(client) } };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.status !== 401) throw error;
    return { kind: 'refused', why: token === null ? null : error.problem.detail };
  }
}
