/**
 * The names of what runs: `<port>.<group>.<job>.<namespace>` stands for each instance of the group that serves, at its port of
 * that label. `endpoints.ts`: which of the reported instances serve, and where; `name-table.ts`: all names of the cell;
 * `template.ts`: endpoints as a text of somebody's own, such as a part of a proxy's configuration.
 */
import { isId, jobKeyOf } from '../cell/ids.ts';
import type { Job } from '../cell/job.ts';

export interface ServiceName {
  readonly port: string;
  readonly group: string;
  readonly job: string;
  readonly namespace: string;
}

/** All names of the cell lie below it in DNS. */
export const DNS_ZONE = 'moorage';
/** Of a whole name as text, without a dot at the end (RFC 1035, 2.3.4). */
const DNS_CHARS_MAX = 253;
/** What a job may have so that each of its names can be asked for: with dots, the zone, and `_` and `_tcp.` of a service record. */
export const NAME_CHARS_MAX = DNS_CHARS_MAX - `._tcp_.${DNS_ZONE}`.length;

export function nameText({ port, group, job, namespace }: ServiceName): string {
  return `${port}.${group}.${job}.${namespace}`;
}

/** @returns null: it is no name; in lower case, since names in DNS are alike in both */
export function readName(text: string): ServiceName | null {
  const labels = text.toLowerCase().split('.');
  const [port = '', group = '', job = '', namespace = ''] = labels;
  return labels.length === 4 && labels.every(isId) ? { port, group, job, namespace } : null;
}

/** `<namespace>/<job>` */
export function jobKeyOfName({ namespace, job }: ServiceName): string {
  return jobKeyOf(namespace, job);
}

/** Of each port of each group, in their order. */
export function namesOf(job: Job): readonly ServiceName[] {
  const { namespace, name } = job;
  return Object.values(job.groups).flatMap((group) =>
    Object.keys(group.ports).map((port) => ({ port, group: group.name, job: name, namespace })),
  );
}

/** What of the name is not there, for people; null: the job has such a port. @param job null: there is none */
export function lackOf(name: ServiceName, job: Job | null): string | null {
  if (job === null) return `there is no job ${jobKeyOfName(name)}`;
  const group = job.groups[name.group];
  const listed = (words: readonly string[]): string => (words.length === 0 ? 'none' : words.join(', '));
  if (group === undefined)
    return `job ${name.job} has no group ${name.group}: it has ${listed(Object.keys(job.groups))}`;
  if (Object.hasOwn(group.ports, name.port)) return null;
  return `group ${name.group} of ${name.job} has no port ${name.port}: it has ${listed(Object.keys(group.ports))}`;
}
