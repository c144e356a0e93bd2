import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { UnknownNameError, withJob } from './find-job.ts';

/** A job, or what of it a typed name means. */
export interface Part {
  readonly name: JobRef;
  readonly status: JobStatus;
  readonly group?: string;
  readonly index?: string;
  readonly allocation?: string;
}

/**
 * A job as `withJob` finds it, `web[2]` and `shop.web[2]` as `ps` names its allocations, or the id of a placed allocation, of
 * which the beginning is enough.
 *
 * @throws CliError
 */
export async function findPart(context: Context, written: string): Promise<Part> {
  const slot = /^([^.[]+)(?:\.([^[]+))?\[(\d+)\]$/.exec(written);
  const [, job = written, group, index] = slot ?? [];
  try {
    const { name, answer } = await withJob(context, job, (api, found) => api.status(found));
    return {
      ...{ name, status: answer },
      ...(group === undefined ? {} : { group }),
      ...(index === undefined ? {} : { index }),
    };
  } catch (error) {
    const part = error instanceof UnknownNameError && slot === null ? await byId(context, written) : null;
    if (part === null) throw error;
    return part;
  }
}

/** Shorter beginnings of an id are the time when it was made, which many share. */
const ID_CHARS_MIN = 10;
const ID_BEGINNING = /^[0-9a-hjkmnp-tv-z]{1,26}$/;

async function byId(context: Context, written: string): Promise<Part | null> {
  if (written.length < ID_CHARS_MIN || !ID_BEGINNING.test(written)) return null;
  const api = await context.api();
  const { allocations } = await api.allocations({});
  const meant = allocations.filter(({ allocation }) => allocation.id.startsWith(written));
  const [only] = meant;
  if (only === undefined || meant.length > 1) return null;
  const { id, namespace, job } = only.allocation;
  if (id !== written) context.terminal.err(`moorage: "${written}" is ${only.name}, ${id}\n`);
  const name = { namespace, job };
  return { name, status: await api.status(name), allocation: id };
}
