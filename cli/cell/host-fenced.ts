import { isId } from '../../src/core/cell/ids.ts';
import type { FenceRequest } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { known } from './host-eligibility.ts';

export type FencedOptions = FenceRequest;

/** An operator's word in place of a fence: what was placed on the lost host runs there no more, and may be replaced. */
export async function confirmFence(
  context: Context,
  host: string,
  { fence, reason }: FencedOptions,
): Promise<number> {
  const api = await context.api();
  if (!isId(host)) throw usageError(`"${host}" is no name of a host`, 'moorage hosts');
  if (!isId(fence)) throw usageError(`--fence "${fence}" is no name of a fence`, 'moorage why JOB');
  const answer = await known(api, host, api.fenced(host, { fence, reason }));
  await printAnswer(context, answer, { name: host, text: () => `${host} is fenced: ${fence}\n` });
  return EXIT.ok;
}
