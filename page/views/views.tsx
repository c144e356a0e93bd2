/**
 * The views, by the name in the address:
 *
 * - `cell-view.tsx`: the cell at a glance, with `host-map.tsx`, `schedulers.tsx` and `waiting.tsx`
 * - `jobs.tsx`: jobs with a filter; `job.tsx`: a job with its allocations and `why.tsx`, its `rollout.tsx` and `timeline.tsx`;
 *   `inside.tsx`: the output of one allocation, and a terminal in it
 * - `hosts.tsx`: hosts; `drain.tsx` asks before one is drained, and says what would move
 * - `run.tsx`: a one-off run from a form, its output streaming
 * - `events.tsx`: what happens, live; `conflicts.tsx`: conflicts, told step by step
 * - `quotas.tsx`: what namespaces may use, and do
 * - `login.tsx`: asks for a token
 */
import type { JSX } from 'preact';
import type { PageRoute, ViewName } from '../figures/route.ts';
import { CellView } from './cell-view.tsx';
import { Conflicts } from './conflicts.tsx';
import { Events } from './events.tsx';
import { Hosts } from './hosts.tsx';
import { JobView } from './job.tsx';
import { Jobs } from './jobs.tsx';
import { Quotas } from './quotas.tsx';
import { Run } from './run.tsx';

export { Login } from './login.tsx';

export const VIEW_TITLES: Readonly<Record<ViewName, string>> = {
  cell: 'Cell',
  jobs: 'Jobs',
  hosts: 'Hosts',
  run: 'Run',
  events: 'Events',
  conflicts: 'Conflicts',
  quotas: 'Quotas',
};

export function View(props: { readonly route: PageRoute }): JSX.Element {
  const { view, parts, query } = props.route;
  const [namespace, job] = parts;
  switch (view) {
    case 'cell':
      return <CellView />;
    case 'jobs':
      return namespace !== undefined && job !== undefined ? (
        <JobView job={{ namespace, job }} />
      ) : (
        <Jobs filter={query['filter'] ?? ''} />
      );
    case 'hosts':
      return <Hosts filter={query['filter'] ?? ''} />;
    case 'run':
      return <Run />;
    case 'events':
      return <Events />;
    case 'conflicts':
      return <Conflicts />;
    case 'quotas':
      return <Quotas />;
  }
}
