import type { Notes, ValueMap } from './notes.ts';
import { isMap, mapIn } from './notes.ts';

const NAME_CHARS_MAX = 63;

/** A name as jobs have them, of any text. */
export function nameFrom(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_CHARS_MAX)
    .replaceAll(/^-+|-+$/g, '');
  return name === '' ? 'converted' : name;
}

const NO_DIGEST = '0'.repeat(64);

/** Images come as archives with their digest, not from a registry: the author has to make one. */
export function imageOf(image: string, where: string, notes: Notes): ValueMap {
  const archive = `${nameFrom(image)}.tar`;
  notes.add(
    where,
    `image ${image}: make an archive (skopeo copy docker://${image} oci-archive:${archive}), serve it, and write its address and sha256sum into image`,
  );
  return { driver: 'oci', image: { source: `https://images.example/${archive}`, sha256: NO_DIGEST } };
}

/** Names of variables are capital letters here. */
export function envOf(
  entries: readonly (readonly [string, string])[],
  where: string,
  notes: Notes,
): ValueMap {
  const env: Record<string, string> = {};
  for (const [key, value] of entries) {
    if (/^[A-Z_][A-Z0-9_]{0,63}$/.test(key)) env[key] = value;
    else notes.add(where, `variable ${key} is left out: names have capital letters, digits and _`);
  }
  return env;
}

/** Words of a command line, as a shell splits them; without variables and globs. */
export function wordsOf(line: string): readonly string[] {
  const words = line.match(/(?:[^\s"']+|"(?:\\.|[^"\\])*"|'[^']*')+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'/g, (_, double?: string, single?: string) =>
      double === undefined ? (single ?? '') : double.replaceAll(/\\(.)/g, '$1'),
    ),
  );
}

/** A command is told here, though an image may bring one. */
export function commandOf(words: readonly string[], where: string, notes: Notes): readonly string[] {
  if (words.length > 0) return words;
  notes.add(where, 'command: the one of the image is not known here; write it instead of CHANGE-ME');
  return ['CHANGE-ME'];
}

/** A size of docker or Kubernetes, where `m` and `M` are megabytes, in a unit of ours. */
export function sizeOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const parts = /^(\d+(?:\.\d+)?)\s*([a-zA-Z]*)$/.exec(text);
  if (parts === null) return text;
  const [, amount = '0', unit = ''] = parts;
  const known: Readonly<Record<string, string>> = {
    ...{ '': '', b: '', k: 'Ki', kb: 'Ki', m: 'Mi', mb: 'Mi', g: 'Gi', gb: 'Gi', t: 'Ti' },
    ...{ ki: 'Ki', mi: 'Mi', gi: 'Gi', ti: 'Ti' },
  };
  const ours = known[unit.toLowerCase()];
  if (ours === undefined) return text;
  return ours === '' ? `${String(Math.max(1, Math.ceil(Number(amount) / 1024)))}Ki` : `${amount}${ours}`;
}

/** Tasks apart from their host that have ports take part in its network: else nobody could reach them. */
export function reachable(job: ValueMap): ValueMap {
  const groups = Object.entries(mapIn(job, 'groups')).map(([name, group]) => {
    if (!isMap(group) || Object.keys(mapIn(group, 'ports')).length === 0) return [name, group] as const;
    const tasks = Object.entries(mapIn(group, 'tasks')).map(([task, value]) => {
      const isApart = isMap(value) && value['driver'] !== undefined;
      return [task, isApart ? { ...value, network: 'host' } : value] as const;
    });
    return [name, { ...group, tasks: Object.fromEntries(tasks) }] as const;
  });
  return { ...job, groups: Object.fromEntries(groups) };
}
