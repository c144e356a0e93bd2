import type { Host } from '../host/host.ts';

/** What may be to blame for a failure, each with a name that is its alone in the cell. */
export const SUSPECT_KINDS = ['revision', 'artifact', 'registry', 'host', 'domain'] as const;
export type SuspectKind = (typeof SUSPECT_KINDS)[number];

/** `host/host-1`, `revision/default/web/app/3`, `domain/kernel/6.1.0`, `artifact/<sha256>`, `registry/<origin>`. */
export type Suspect = `${SuspectKind}/${string}`;

/** The attributes of a host by which it shares a fate with others; `agent` is its agent's version. */
const DOMAIN_ATTRIBUTES = ['agent', 'kernel', 'rack', 'pool', 'zone', 'class', 'os', 'arch'] as const;

export function kindOf(suspect: Suspect): SuspectKind {
  return suspect.slice(0, suspect.indexOf('/')) as SuspectKind;
}

export interface Revision {
  readonly namespace: string;
  readonly job: string;
  readonly group: string;
  readonly version: number;
}

export function revisionName({ namespace, job, group, version }: Revision): string {
  return `${namespace}/${job}/${group}/${String(version)}`;
}

export function revisionSuspect(revision: Revision): Suspect {
  return `revision/${revisionName(revision)}`;
}

export function hostSuspect(host: string): Suspect {
  return `host/${host}`;
}

export function domainSuspect(attribute: string, value: string): Suspect {
  return `domain/${attribute}/${value}`;
}

/** @returns null: it is none */
export function revisionOf(suspect: string): Revision | null {
  const [kind, namespace, job, group, version, more] = suspect.split('/');
  if (kind !== 'revision' || namespace === undefined || job === undefined || group === undefined) return null;
  if (version === undefined || !/^\d+$/.test(version) || more !== undefined) return null;
  return { namespace, job, group, version: Number(version) };
}

/** @returns null: it is none */
export function hostOf(suspect: string): string | null {
  return suspect.startsWith('host/') ? suspect.slice('host/'.length) : null;
}

/** @returns null: it is none */
export function domainOf(suspect: string): { readonly attribute: string; readonly value: string } | null {
  const [kind, attribute, ...value] = suspect.split('/');
  if (kind !== 'domain' || attribute === undefined || value.length === 0) return null;
  return { attribute, value: value.join('/') };
}

/** For people: `host host-1`, `version 3 of default/web (app)`, `kernel 6.1.0`. */
export function suspectText(suspect: string): string {
  const revision = revisionOf(suspect);
  if (revision !== null) {
    const { namespace, job, group, version } = revision;
    return `version ${String(version)} of ${namespace}/${job}${group === job ? '' : ` (${group})`}`;
  }
  const domain = domainOf(suspect);
  if (domain !== null) return `${domain.attribute} ${domain.value}`;
  return suspect.replace('/', ' ');
}

/** The domains of a host. */
export function domainsOf({
  attributes,
  agentVersion,
}: Pick<Host, 'attributes' | 'agentVersion'>): readonly Suspect[] {
  const all: Readonly<Record<string, string>> = { ...attributes, agent: agentVersion };
  return DOMAIN_ATTRIBUTES.flatMap((name) => {
    const value = all[name];
    return value === undefined || value === '' ? [] : [domainSuspect(name, value)];
  });
}
