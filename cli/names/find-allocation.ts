import type { AllocationStatus } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { findPart } from './find-part.ts';

/**
 * The id of the allocation that is meant: of what `findPart` finds, the only one that is placed.
 * @throws CliError
 */
export async function findAllocation(context: Context, written: string): Promise<string> {
  const { status, group, index, allocation: id } = await findPart(context, written);
  if (id !== undefined) return id;
  const meant = status.allocations
    .filter(({ allocation }) => allocation.desired === 'run')
    .filter(({ allocation }) => group === undefined || allocation.group === group)
    .filter(({ allocation }) => index === undefined || allocation.index === Number(index));
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return only.allocation.id;
  const next = `moorage ps ${status.record.job.name}`;
  if (only === undefined)
    throw new CliError(EXIT.usage, `nothing of "${written}" is placed on a host now`, next);
  throw new CliError(EXIT.usage, `"${written}" may be any of ${namesOf(meant)}`, next);
}

const SHOWN_MAX = 8;

function namesOf(all: readonly AllocationStatus[]): string {
  const shown = all.slice(0, SHOWN_MAX).map((one) => one.name);
  return `${shown.join(', ')}${all.length > SHOWN_MAX ? ', ...' : ''}`;
}
