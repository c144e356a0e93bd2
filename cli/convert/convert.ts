/**
 * `moorage convert`: job files between YAML and JSON, and what other systems have as job files of this one. What has no
 * counterpart here is left out and told on standard error, a line each.
 *
 * - `compose.ts` reads a compose file, `kubernetes.ts` Deployments, StatefulSets, DaemonSets and Jobs, `nomad.ts` the JSON
 *   of a Nomad job, `procfile.ts` a Procfile. Each makes job files as values.
 * - `notes.ts` collects what is left out, and reads values whose shape nobody has checked.
 * - `parts.ts` makes what more than one of them needs: names, images, volumes.
 */
import { basename, dirname, resolve } from 'node:path';
import type { FileForm } from '../../src/wire/job-file/format.ts';
import { formatJobText, formOf } from '../../src/wire/job-file/format.ts';
import { formatProblem, parseJobObject, parseJobText } from '../../src/wire/job-file/job-file.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { readText } from '../command/read-text.ts';
import { writeText } from '../command/write-text.ts';
import { plural } from '../../src/wire/values/words.ts';
import { fromCompose } from './compose.ts';
import { fromKubernetes } from './kubernetes.ts';
import { fromNomad } from './nomad.ts';
import type { Value, ValueMap } from './notes.ts';
import { isMap, mapIn, Notes } from './notes.ts';
import { nameFrom, reachable } from './parts.ts';
import { fromProcfile } from './procfile.ts';

const SOURCES = ['moorage', 'compose', 'kubernetes', 'nomad', 'procfile'] as const;
type Source = (typeof SOURCES)[number];

export interface ConvertOptions {
  readonly from?: string;
  /** Absent: the other of the two for a job file, YAML for what comes from elsewhere. */
  readonly to?: string;
  readonly name?: string;
  readonly dir?: string;
}

export async function convert(context: Context, file: string, options: ConvertOptions): Promise<number> {
  const text = await readText(file, 'moorage convert FILE');
  const asked = choiceOf('--from', options.from, SOURCES);
  const to = choiceOf('--to', options.to, FORMS);
  const documents = asked === 'procfile' ? [] : await valuesIn(text, file, asked);
  const from = asked ?? sourceOf(file, documents);
  const notes = new Notes();
  if (from === 'moorage') return convertJobFile(context, { text, file }, to);
  const name = options.name ?? nameFrom(file === '-' ? 'converted' : nameOfFolder(file));
  const jobs =
    from === 'procfile'
      ? [fromProcfile(text, name, notes)]
      : documents.flatMap((one) => jobsIn(from, one, name, notes));
  for (const note of notes.lines) context.terminal.err(`${note}\n`);
  if (jobs.length === 0)
    throw new CliError(EXIT.badSpec, `${file}: there is no job in it`, 'moorage convert --help');
  await print(context, jobs.map(reachable), { to: to ?? 'yaml', dir: options.dir });
  return EXIT.ok;
}

const FORMS = ['yaml', 'json'] as const;

function choiceOf<T extends string>(
  flag: string,
  text: string | undefined,
  known: readonly T[],
): T | undefined {
  const found = known.find((one) => one === text);
  if (text !== undefined && found === undefined)
    throw usageError(`${flag} ${text}: expected one of ${known.join(', ')}`, 'moorage convert --help');
  return found;
}

async function valuesIn(text: string, file: string, from: Source | undefined): Promise<readonly Value[]> {
  const { parseAllDocuments } = await import('yaml');
  const documents = parseAllDocuments(text, { merge: true, prettyErrors: false });
  const parsed = Array.isArray(documents) ? documents : [];
  const [fault] = parsed.flatMap((one) => one.errors);
  // A Procfile is mostly YAML by chance, and need not be.
  if (fault !== undefined && (from !== undefined || !isProcfile(file)))
    throw new CliError(
      EXIT.badSpec,
      `${file}: ${fault.message.split('\n')[0] ?? ''}`,
      'moorage convert --help',
    );
  return fault === undefined ? parsed.map((one) => one.toJS({ maxAliasCount: 50 }) as Value) : [];
}

function isProcfile(file: string): boolean {
  return basename(file).startsWith('Procfile');
}

function nameOfFolder(file: string): string {
  const stem = basename(file).replace(/\.[^.]*$/, '');
  return /^(compose|docker-compose|Procfile)/.test(stem) ? basename(dirname(resolve(file))) : stem;
}

/** By what only files of that kind have. */
function sourceOf(file: string, documents: readonly Value[]): Source {
  if (isProcfile(file)) return 'procfile';
  const [first] = documents;
  if (!isMap(first)) return 'moorage';
  if (isMap(first['services'])) return 'compose';
  if ('apiVersion' in first && 'kind' in first) return 'kubernetes';
  if ('TaskGroups' in first || 'TaskGroups' in mapIn(first, 'Job')) return 'nomad';
  return 'moorage';
}

function jobsIn(from: Source, value: Value, name: string, notes: Notes): readonly ValueMap[] {
  switch (from) {
    case 'compose':
      return [fromCompose(value, name, notes)];
    case 'kubernetes':
      return fromKubernetes(value, notes);
    case 'nomad':
      return [fromNomad(value, notes)];
    default:
      return [];
  }
}

async function convertJobFile(
  { terminal }: Context,
  { text, file }: { readonly text: string; readonly file: string },
  to: FileForm | undefined,
): Promise<number> {
  const reading = parseJobText(text, file);
  if (!reading.ok)
    throw new CliError(
      EXIT.badSpec,
      reading.problems.map(formatProblem).join('\n'),
      `moorage validate ${file}`,
    );
  terminal.out(formatJobText(text, reading.job, to ?? (formOf(text) === 'json' ? 'yaml' : 'json')));
  return EXIT.ok;
}

/** Several jobs are several files: one to standard output, or each into a folder. */
async function print(
  { terminal }: Context,
  jobs: readonly ValueMap[],
  { to, dir }: { readonly to: FileForm; readonly dir: string | undefined },
): Promise<void> {
  if (dir === undefined && jobs.length > 1)
    throw usageError(
      `it holds ${plural(jobs.length, 'job')}: name a folder for their files`,
      'moorage convert FILE --dir FOLDER',
    );
  for (const job of jobs) {
    const name = String(job['name']);
    const reading = parseJobObject(job);
    if (!reading.ok)
      throw new CliError(
        EXIT.badSpec,
        reading.problems.map((one) => `${name}: ${formatProblem(one)}`).join('\n'),
        'mend that in the source, and convert it again',
      );
    const text = formatJobText(JSON.stringify(job), reading.job, to);
    if (dir === undefined) terminal.out(text);
    else {
      const file = `${dir}/${name}.${to}`;
      await writeText(file, text, 'moorage convert FILE --dir FOLDER');
      terminal.out(`${file}\n`);
    }
  }
}
