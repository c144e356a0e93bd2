/**
 * The smallest list that still fails, found by leaving parts out: halves first, then smaller parts, then one by one, until
 * no single item can go any more (delta debugging, Zeller and Hildebrandt 2002). The order of the items is kept.
 *
 * @param fails asked of ever shorter lists; the given one is taken to fail
 * @param triesMax how often `fails` is asked at most
 */
export async function reduce<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  triesMax: number,
): Promise<readonly T[]> {
  let kept = items;
  let parts = 2;
  let tries = 0;
  if (kept.length > 0 && tries++ < triesMax && (await fails([]))) return [];
  while (kept.length > 1 && parts <= kept.length && tries < triesMax) {
    const shorter = await without(kept, parts, async (rest) => tries++ < triesMax && (await fails(rest)));
    if (shorter !== null) {
      kept = shorter;
      parts = Math.max(2, parts - 1);
    } else if (parts === kept.length) {
      break;
    } else {
      parts = Math.min(kept.length, parts * 2);
    }
  }
  return kept;
}

/** The first of the lists without one of the parts that still fails. */
async function without<T>(
  items: readonly T[],
  parts: number,
  fails: (rest: readonly T[]) => Promise<boolean>,
): Promise<readonly T[] | null> {
  for (let part = 0; part < parts; part++) {
    const from = Math.floor((part * items.length) / parts);
    const to = Math.floor(((part + 1) * items.length) / parts);
    const rest = [...items.slice(0, from), ...items.slice(to)];
    if (await fails(rest)) return rest;
  }
  return null;
}
