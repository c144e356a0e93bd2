/**
 * The place of a host in the order of all, 0 to before 1: by its id alone, and unrelated to anything else (FNV-1a, mixed as
 * MurmurHash3 does).
 */
export function orderOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000;
}

export function inOrder<T extends { readonly id: string }>(hosts: readonly T[]): readonly T[] {
  const placed = hosts.map((host) => ({ host, order: orderOf(host.id) }));
  placed.sort((a, b) => a.order - b.order || (a.host.id < b.host.id ? -1 : 1));
  return placed.map(({ host }) => host);
}
