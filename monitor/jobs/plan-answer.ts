import type { Caller } from '../../src/core/access/access.ts';
import { sees } from '../../src/core/access/access.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { JobPlan, PlanAct, PlanAnswer, PlanRequest } from '../../src/wire/plan/plan.ts';
import { noSuchHost, refuse } from '../refusals.ts';
import type { CellCopy } from '../view/view.ts';
import type { CellChange, CellPlan } from './plans.ts';

/** @throws ProblemError 404 for a host that is not there */
export function changeOf(copy: CellCopy, { hostsLost = [], hostsAdded }: PlanRequest): CellChange {
  const known = (id: string): Host => {
    const host = copy.hosts.get(id)?.value;
    if (host === undefined) throw noSuchHost(id);
    return host;
  };
  for (const id of hostsLost) known(id);
  if (hostsAdded === undefined) return { hostsLost, hostsAdded: [] };
  const { count, like } = hostsAdded;
  const model = known(like);
  const added = Array.from({ length: count }, (_, n) => ({ ...model, id: `${like}-new-${String(n + 1)}` }));
  for (const { id } of added)
    if (!isId(id) || copy.hosts.get(id) !== undefined)
      throw refuse(409, 'name-taken', `a host like ${like} would be named ${id}`, {
        path: 'hostsAdded.like',
      });
  return { hostsLost, hostsAdded: added };
}

/** Jobs of other namespaces are counted, and what is preempted of them is without its names. */
export function seenBy(
  peer: Caller | null,
  { jobs, moves, quotas, ...rest }: CellPlan & Pick<PlanAnswer, 'versionBefore' | 'quotas'>,
): PlanAnswer {
  const seen = jobs.filter(({ namespace }) => sees(peer, namespace));
  const shown = moves?.filter(({ namespace }) => sees(peer, namespace));
  const over = quotas?.filter(({ namespace }) => sees(peer, namespace)) ?? [];
  return {
    ...rest,
    ...(over.length === 0 ? {} : { quotas: over }),
    jobs: seen.map((one) => withoutNames(peer, one)),
    jobsHidden: jobs.length - seen.length,
    ...(moves === undefined || shown === undefined
      ? {}
      : { moves: shown, movesHidden: moves.length - shown.length }),
  };
}

function withoutNames(peer: Caller | null, plan: JobPlan): JobPlan {
  const acts = plan.acts.map((act): PlanAct => {
    if (sees(peer, act.namespace)) return act;
    return {
      act: act.act,
      namespace: '',
      job: '',
      slot: 'an allocation of another namespace',
      host: act.host,
    };
  });
  return { ...plan, acts };
}
