/**
 * Which job or allocation a typed name means; all verbs ask here. This file splits `namespace/job` and checks both parts;
 * `find-job.ts` finds the job by its name, by the name that a one-off run was given, or by the beginning of a name;
 * `find-part.ts` a part of it by `web[2]` or by an allocation's id, `find-allocation.ts` the one allocation that is placed there.
 */
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { isId } from '../../src/core/cell/ids.ts';
import { usageError } from '../command/exit.ts';

/** @param namespace where `written` names none */
export function jobName(written: string, namespace: string): JobRef {
  const slash = written.indexOf('/');
  const space = slash < 0 ? namespace : written.slice(0, slash);
  const job = slash < 0 ? written : written.slice(slash + 1);
  checkedNamespace(space);
  // The beginning of a name may end with a dash.
  if (job === '' || (!isId(`${job}0`) && !isId(job)))
    throw usageError(`"${written}" is no name of a job`, 'moorage ps');
  return { namespace: space, job };
}

/** @throws CliError */
export function checkedNamespace(namespace: string): string {
  if (!isId(namespace)) throw usageError(`"${namespace}" is no name of a namespace`, 'moorage ps -A');
  return namespace;
}

/** Without the namespace where it is the usual one. */
export function shownName(namespace: string, job: string, usual: string): string {
  return namespace === usual ? job : `${namespace}/${job}`;
}
