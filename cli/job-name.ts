import { isId } from '../src/core/ids.ts';
import { usageError } from './exit.ts';

export interface JobName {
  readonly namespace: string;
  readonly job: string;
  /** `/v1/jobs/<namespace>/<job>` */
  readonly path: string;
}

/** `hello`, or `team-a/hello` whatever `--namespace` says. */
export function jobName(written: string, namespace: string): JobName {
  const slash = written.indexOf('/');
  const space = slash < 0 ? namespace : written.slice(0, slash);
  const job = slash < 0 ? written : written.slice(slash + 1);
  if (!isId(space) || !isId(job)) throw usageError(`"${written}" is no name of a job`, 'moorage ps');
  return { namespace: space, job, path: `/v1/jobs/${space}/${job}` };
}

/** Without the namespace where it is the usual one. */
export function shownName(namespace: string, job: string, usual: string): string {
  return namespace === usual ? job : `${namespace}/${job}`;
}
