import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Group, Job } from '../../src/core/cell/job.ts';
import { isSameWork } from '../../src/core/slots/slot-table.ts';
import { updatePolicyOf } from '../../src/core/slots/update-policy.ts';
import { jobToFile } from '../../src/wire/job-file/job-file.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { isNoSuchJob } from '../names/find-job.ts';
import { readJobFile } from '../jobs/validate.ts';
import { printAnswer } from '../output/output.ts';

/** One place where two jobs differ; absent: it is not there. */
export interface JobChange {
  /** `groups.web.tasks.server.env.LOG_LEVEL` */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** By path, as in a job file with every default written out. Equal jobs have none. */
export function changesBetween(before: Job, after: Job): readonly JobChange[] {
  return compare('', jobToFile(before), jobToFile(after));
}

function compare(path: string, before: unknown, after: unknown): readonly JobChange[] {
  if (isMap(before) && isMap(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => compare(path === '' ? key : `${path}.${key}`, before[key], after[key]));
  }
  if (before !== undefined && after !== undefined && canonicalJson(before) === canonicalJson(after))
    return [];
  return [{ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The file's job, in the namespace of the context unless it names another one. */
export async function jobOfFile(context: Context, file: string): Promise<Job> {
  const job = await readJobFile(file);
  return { ...job, namespace: job.namespace === 'default' ? context.namespace : job.namespace };
}

/** How the file differs from the version that is there, and what `run` would do. Exits with 1 when it differs. */
export async function diff(context: Context, file: string, version: number | null): Promise<number> {
  const after = await jobOfFile(context, file);
  const { namespace, name } = after;
  const before = await jobOf(context, { namespace, job: name }, version);
  const changes = before === null ? [] : changesBetween(before, after);
  const effects = before === null ? ['a new job'] : effectsOf(before, after);
  await printAnswer(
    context,
    { new: before === null, changes, effects },
    {
      name: after.name,
      text: () => render(changes, effects),
    },
  );
  return before !== null && changes.length === 0 ? EXIT.ok : EXIT.workloadFailed;
}

export async function jobOf(
  context: Context,
  name: { readonly namespace: string; readonly job: string },
  version: number | null,
): Promise<Job | null> {
  const api = await context.api();
  try {
    const { versions } = await api.history(name);
    const found = versions.find((one) => (version === null ? one.current : one.version === version));
    if (found !== undefined) return found.job;
  } catch (error) {
    if (!isNoSuchJob(error)) throw error;
    return null;
  }
  throw new CliError(
    EXIT.usage,
    `version ${String(version)} of ${name.job} is not kept`,
    `moorage history ${name.job}`,
  );
}

function effectsOf(before: Job, after: Job): readonly string[] {
  return Object.values(after.groups).flatMap((group) => {
    const was = before.groups[group.name];
    if (was === undefined) return [`group ${group.name}: new`];
    const now = {
      ...after,
      ...(before.restartedAtMs === undefined ? {} : { restartedAtMs: before.restartedAtMs }),
    };
    const lines: string[] = [];
    const { parallelism, strategy } = updatePolicyOf(group);
    if (!isSameWork(before, now, group.name))
      lines.push(`group ${group.name}: all are replaced, ${String(parallelism)} at a time, ${strategy}`);
    const [had, has] = [countText(was), countText(group)];
    if (had !== has) lines.push(`group ${group.name}: ${had} become ${has}`);
    return lines;
  });
}

function countText(group: Group): string {
  return group.countMax === undefined
    ? String(group.count)
    : `${String(group.count)}..${String(group.countMax)}`;
}

/** `- groups.web.count: 3`, `+ groups.web.count: 5` */
export function linesOf(changes: readonly JobChange[]): readonly string[] {
  return changes.flatMap(({ path, before, after }) => [
    ...(before === undefined ? [] : [`- ${path}: ${shown(before)}`]),
    ...(after === undefined ? [] : [`+ ${path}: ${shown(after)}`]),
  ]);
}

function render(changes: readonly JobChange[], effects: readonly string[]): string {
  const lines = linesOf(changes);
  const outcome =
    effects.length > 0 ? effects : [changes.length === 0 ? 'no difference' : 'nothing is restarted'];
  return [...lines, ...outcome].map((line) => `${line}\n`).join('');
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}
