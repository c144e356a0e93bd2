import type { Allocation } from '../../src/core/cell/allocation.ts';
import { amountsOf, NamespaceSums } from '../../src/core/quota/amounts.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Quota } from '../../src/core/quota/quota.ts';
import { QUOTAS_MAX } from '../../src/wire/values/bounds.ts';
import type { QuotaStatus } from '../../src/wire/api/quota-api.ts';
import { quotaCodec } from '../../src/wire/records/records.ts';
import type { LimitPorts } from './limits.ts';
import { writeLimit } from './limits.ts';
import { refuse } from '../refusals.ts';

/** What namespaces may use, read from the store: monitors keep no copy. See docs/decisions/tickets-and-quotas.md. */

/** By namespace, with what its allocations hold; needs no arbiter. */
export async function listQuotas(
  ports: LimitPorts,
  allocations: Iterable<Allocation>,
): Promise<readonly QuotaStatus[]> {
  const known = await readQuotas(ports);
  const used = new NamespaceSums();
  for (const allocation of allocations)
    if (known.has(allocation.namespace)) used.change(allocation.namespace, amountsOf(allocation), 1);
  return [...known].map(([namespace, text]) => {
    const quota = decoded(text);
    return {
      ...NOTHING_ALLOWED,
      ...quota,
      namespace,
      used: used.get(namespace),
      isReadable: quota !== null,
    };
  });
}

/**
 * Replaces all of a namespace's quota. Running allocations stay, also when they use more: then nothing more is granted until
 * enough of them has ended.
 *
 * @throws ProblemError 409 when the cell has as many as it may have
 */
export async function setQuota(ports: LimitPorts, quota: Quota): Promise<void> {
  const known = await readQuotas(ports);
  const before = known.get(quota.namespace);
  if (before === undefined && known.size >= QUOTAS_MAX)
    throw refuse(409, 'too-many', `a cell has at most ${String(QUOTAS_MAX)} quotas`, {
      hint: 'moorage quota   (`moorage quota rm NAMESPACE` removes one)',
    });
  if (before !== undefined && canonicalJson(decoded(before)) === canonicalJson(quota)) return;
  const key = ports.keys.quota(quota.namespace);
  await writeLimit(ports, { kind: 'put', key, value: quotaCodec.encode(quota) });
}

export async function removeQuota(ports: LimitPorts, namespace: string): Promise<void> {
  await writeLimit(ports, { kind: 'delete', key: ports.keys.quota(namespace) });
}

async function readQuotas({ store, keys }: LimitPorts): Promise<ReadonlyMap<string, string>> {
  const prefix = keys.quota('');
  const { entries } = await store.list(prefix);
  const names = [...entries.keys()].sort();
  return new Map(names.map((key) => [key.slice(prefix.length), entries.get(key)?.value ?? '']));
}

/** An arbiter grants nothing on a record that it cannot read. */
const NOTHING_ALLOWED = { cpuMilli: 0, memoryMib: 0, gpuMilli: 0, allocations: 0 };

/** Its limits alone; null: the record is no quota. */
function decoded(text: string): Quota | null {
  try {
    const { namespace, cpuMilli, memoryMib, gpuMilli, allocations } = quotaCodec.decode(text);
    return { namespace, cpuMilli, memoryMib, gpuMilli, allocations };
  } catch {
    return null;
  }
}
