/**
 * The cell as the page reaches it: by the client of the monitors' API, with the viewer's own token.
 *
 * - `session.ts` keeps the token; `fetch-client.ts` makes the calls of a browser, `socket-client.ts` opens its channels
 * - `link.ts`: which monitors there are, and which answer; `MonitorClient` asks one after the other
 * - `feed.ts`: events, live; `polled.ts`: what is loaded again and again
 * - `signal.ts`: a value that views follow; `browser.ts`: a browser's time and chance
 */
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { WhoAmI } from '../../src/wire/access/token-api.ts';
import type { Right } from '../../src/core/access/access.ts';
import { mayUse } from '../../src/core/access/access.ts';
import type { ChannelClient } from '../../src/ports/http.ts';
import type { SchedulerHistory } from '../figures/series.ts';
import { Feed } from './feed.ts';
import { fetchClient } from './fetch-client.ts';
import { Link } from './link.ts';
import { socketClient } from './socket-client.ts';

export interface Cell {
  readonly client: MonitorClient;
  readonly channels: ChannelClient;
  readonly link: Link;
  readonly feed: Feed;
  readonly me: WhoAmI;
  /** What was seen of them since the page was opened, by their ids. */
  readonly schedulers: Map<string, SchedulerHistory>;
  /** Whether the viewer has the right: what the cell would refuse is not offered. */
  readonly may: (right: Right) => boolean;
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
  const options = {
    token: () => token,
    onOutcome: (origin: string, answered: boolean) => link.outcome(origin, answered),
  };
  const http = fetchClient(options);
  const client = new MonitorClient(http, { urls: link.urls, from: 'this page' });
  try {
    const me = await client.whoAmI();
    const { monitors = [] } = await client.cell();
    link.learn(monitors.map(({ address }) => address));
    const schedulers = new Map<string, SchedulerHistory>();
    const cell = { client, link, me, schedulers, may: rightsOf(me), feed: new Feed(client) };
    return { kind: 'in', cell: { ...cell, channels: socketClient(options) } };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.status !== 401) throw error;
    return { kind: 'refused', why: token === null ? null : error.problem.detail };
  }
}

/** A certificate that a browser shows is an operator's, or the cell refuses what it is not for. */
function rightsOf({ kind, scope, name, namespaces, endsAtMs }: WhoAmI): Cell['may'] {
  if (kind !== 'token' || scope === null) return () => true;
  const person = { role: 'person', id: name, name, scope, namespaces, endsAtMs: endsAtMs ?? 0 } as const;
  return (right) => mayUse(person, right);
}
