import { isId } from '../../src/core/cell/ids.ts';
import type { HostStatus, LabelsRequest } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { known } from './host-eligibility.ts';

/** Gives labels (`zone=a`), or takes them away (`zone-`); without any, prints those that operators gave. */
export async function labelHost(context: Context, host: string, words: readonly string[]): Promise<number> {
  const api = await context.api();
  if (!isId(host)) throw usageError(`"${host}" is no name of a host`, 'moorage hosts');
  const asked = words.length === 0 ? api.host(host) : api.label(host, requestOf(words));
  const status = await known(api, host, asked);
  await printAnswer(context, status, { name: host, text: () => `${linesOf(status).join('\n')}\n` });
  return EXIT.ok;
}

function requestOf(words: readonly string[]): LabelsRequest {
  const set: Record<string, string> = {};
  const remove: string[] = [];
  for (const word of words) {
    const at = word.indexOf('=');
    if (at > 0) set[word.slice(0, at)] = word.slice(at + 1);
    else if (at === -1 && word.endsWith('-')) remove.push(word.slice(0, -1));
    else
      throw usageError(
        `"${word}": write NAME=VALUE, or NAME- to take it away`,
        'moorage host label HOST zone=a',
      );
  }
  return { set, remove };
}

function linesOf({ eligibility }: HostStatus): readonly string[] {
  const labels = Object.entries(eligibility?.labels ?? {});
  return labels.length === 0 ? ['no labels'] : labels.map(([name, value]) => `${name}=${value}`);
}
