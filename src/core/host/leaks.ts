/** Attribute of a host on which something was left behind that does not go away: how many such things. */
export const LEAKING = 'leaking';

/** With more than this many that do not go away, a host takes no new work: it would only lose more. */
export const LEAKS_MAX = 8;

/** How many a host with these attributes says there are. */
export function leaksOf(attributes: Readonly<Record<string, string>>): number {
  return Number(attributes[LEAKING] ?? 0) || 0;
}
