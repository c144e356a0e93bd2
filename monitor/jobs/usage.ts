import type { HostClient } from '../../src/clients/host-client.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { CellUsage, HostUsage } from '../../src/wire/api/usage-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { CellCopy } from '../view/view.ts';

/** Hosts asked at once: each answer costs the host some reads of its control groups. */
const ASKED_AT_ONCE_MAX = 32;

/** What the allocations of these jobs use, from their hosts (S3.8). */
export async function cellUsage(
  copy: CellCopy,
  client: HostClient,
  jobKeys: readonly string[],
): Promise<CellUsage> {
  const wanted = new Map<string, Set<string>>();
  for (const jobKey of jobKeys)
    for (const { value } of copy.allocationsByJob.of(jobKey).values())
      wanted.set(value.host, (wanted.get(value.host) ?? new Set()).add(value.id));
  const hosts: HostUsage[] = [];
  const unreachable: string[] = [];
  const ids = [...wanted.keys()].sort();
  for (let i = 0; i < ids.length; i += ASKED_AT_ONCE_MAX) {
    const asked = ids.slice(i, i + ASKED_AT_ONCE_MAX).map(async (id) => {
      const usage = await usageOf(copy, client, id);
      if (usage === null) unreachable.push(id);
      else
        hosts.push({ ...usage, allocations: usage.allocations.filter((one) => wanted.get(id)?.has(one.id)) });
    });
    await Promise.all(asked);
  }
  hosts.sort((a, b) => a.host.localeCompare(b.host));
  return { hosts, unreachable };
}

async function usageOf(copy: CellCopy, client: HostClient, id: string): Promise<HostUsage | null> {
  const address = copy.hosts.get(id)?.value.address;
  if (address === undefined) return null;
  try {
    return await client.usage(address);
  } catch (error) {
    // An agent of an older version has no such path.
    if (error instanceof HttpError || error instanceof ProblemError) return null;
    throw error;
  }
}
