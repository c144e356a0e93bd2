import type { Allowance } from '../../src/core/host/allowances.ts';
import {
  allowanceAttribute,
  ALLOWANCES,
  ALLOWED_BY_DEFAULT,
  neededBy,
} from '../../src/core/host/allowances.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { Launch } from '../../src/wire/api/host-api.ts';
import type { Isolation } from '../drivers/isolation.ts';

/** What this host allows and can do, for constraints. Where all tasks run as the agent's user, to ask for that is to ask for nothing. */
export function policyAttributes(
  allow: readonly Allowance[] = ALLOWED_BY_DEFAULT,
  { user, ids }: Isolation,
): Record<string, string> {
  const isAllowed = (one: Allowance): boolean => {
    if (one === 'root') return ids && allow.includes(one);
    return allow.includes(one) || (one !== 'host-network' && !user);
  };
  return Object.fromEntries(ALLOWANCES.map((one) => [allowanceAttribute(one), String(isAllowed(one))]));
}

/** @returns what a task asks and this host does not allow; null when it allows all */
export function forbiddenIn(
  launch: Launch,
  namespace: string,
  { attributes }: Pick<Host, 'attributes'>,
): Allowance | null {
  const needed = neededBy(Object.values(launch.tasks), namespace);
  return needed.find((one) => attributes[allowanceAttribute(one)] === 'false') ?? null;
}
