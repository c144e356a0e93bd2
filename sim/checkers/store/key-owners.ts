import type { CellMeta } from '../../../src/core/core.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { CellAt, Diff, Records, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I7: each key is changed only by the role that owns it, as far as the record names its writer; its name agrees with its content; and
 * what is to be written once is not overwritten.
 */
export function checkKeyOwners(step: Step, cell: CellAt, findings: Findings): void {
  const wrong = (key: string, detail: string): void => findings.add('I7', step.revision, key, detail);
  for (const { key, error } of step.unreadable) wrong(key, error.message);
  checkNames(step, wrong);
  if (step.initial) return;
  for (const { key, before, after } of step.changed.allocations) {
    if (after === undefined || before !== undefined) continue;
    const owner = cell.owners.get(jobKeyOf(after.namespace, after.job));
    if (owner?.scheduler !== after.scheduler)
      wrong(
        key,
        `committed by ${after.scheduler}, while the job was owned by ${owner?.scheduler ?? 'no scheduler'}`,
      );
  }
  for (const kind of ONCE) {
    for (const { key, before, after } of step.changed[kind] as readonly Diff<unknown>[])
      if (before !== undefined && after !== undefined) wrong(key, 'it is written once, and was overwritten');
  }
  for (const { key, before, after } of step.changed.meta)
    if (before !== undefined && after !== undefined && !isRenewal(before, after))
      wrong(key, 'it was overwritten by something else than its renewal');
  for (const { key, before, after } of step.changed.hosts)
    if (before !== undefined && after !== undefined && after.incarnation < before.incarnation)
      wrong(
        key,
        `incarnation ${String(after.incarnation)} after ${String(before.incarnation)}: not by its own agent`,
      );
  for (const { key, before, after } of step.changed.jobs)
    if (before !== undefined && after !== undefined && after.version < before.version)
      wrong(key, `version ${String(after.version)} after ${String(before.version)}`);
}

const ONCE = ['owners', 'versions', 'runs'] as const;

/** After a restore an operator gives the cell another incarnation, and nothing else (`moorage restored`). */
function isRenewal(before: CellMeta, after: CellMeta): boolean {
  const isLater = (after.restoredAtMs ?? 0) > (before.restoredAtMs ?? 0);
  const isSameCell = after.schema === before.schema && after.createdAtMs === before.createdAtMs;
  return isLater && isSameCell && after.incarnation !== before.incarnation;
}

/** The name of a record's key, from its content. */
const NAMES: { readonly [R in keyof Records]?: (value: Records[R]) => string } = {
  hosts: (host) => host.id,
  allocations: ({ namespace, job, id }) => `${namespace}/${job}/${id}`,
  intents: ({ namespace, job, id }) => `${namespace}/${job}/${id}`,
  outcomes: ({ namespace, job, allocation }) => `${namespace}/${job}/${allocation}`,
  jobs: ({ job }) => jobKeyOf(job.namespace, job.name),
  quotas: ({ namespace }) => namespace,
  shared: ({ name }) => name,
};

function checkNames(step: Step, wrong: (key: string, detail: string) => void): void {
  for (const kind of Object.keys(NAMES) as (keyof Records)[]) {
    const nameOf = NAMES[kind] as (value: unknown) => string;
    for (const { key, name, after } of step.changed[kind] as readonly Diff<unknown>[]) {
      if (after === undefined) continue;
      const named = nameOf(after);
      if (named !== name) wrong(key, `the record is that of ${named}`);
    }
  }
}
