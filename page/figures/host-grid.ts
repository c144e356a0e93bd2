import type { HostStatus } from '../../src/wire/api/monitor-api.ts';

/** More values than these make no map: they are as good as names. */
const VALUES_MAX = 128;
/** What operators usually name failure domains by; the first that hosts have is chosen. */
const USUAL = ['zone', 'rack', 'datacenter', 'region', 'class'];

/** The attributes by which hosts can be grouped, the usual ones first. */
export function domainsOf(hosts: readonly HostStatus[]): readonly string[] {
  const values = new Map<string, Set<string>>();
  for (const { host } of hosts)
    for (const [name, value] of Object.entries(host.attributes)) {
      const known = values.get(name);
      if (known === undefined) values.set(name, new Set([value]));
      else if (known.size <= VALUES_MAX) known.add(value);
    }
  const telling = [...values].filter(([, { size }]) => size > 1 && size <= VALUES_MAX && size < hosts.length);
  const rank = (name: string): number => (USUAL.includes(name) ? USUAL.indexOf(name) : USUAL.length);
  return telling.map(([name]) => name).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

export interface HostGroup {
  readonly domain: string;
  readonly hosts: readonly HostStatus[];
}

/** @param by an attribute; null: all hosts are one group */
export function groupsOf(hosts: readonly HostStatus[], by: string | null): readonly HostGroup[] {
  const groups = new Map<string, HostStatus[]>();
  for (const status of hosts) {
    const domain = by === null ? 'all hosts' : (status.host.attributes[by] ?? 'without one');
    const group = groups.get(domain);
    if (group === undefined) groups.set(domain, [status]);
    else group.push(status);
  }
  return [...groups]
    .map(([domain, members]) => ({ domain, hosts: members }))
    .sort((a, b) => a.domain.localeCompare(b.domain, 'en', { numeric: true }));
}

export interface Square {
  readonly x: number;
  readonly y: number;
  readonly status: HostStatus;
}

export interface GridLine {
  readonly y: number;
  readonly text: string;
}

export interface Grid {
  readonly height: number;
  /** Side of a square. */
  readonly side: number;
  readonly squares: readonly Square[];
  readonly lines: readonly GridLine[];
}

const LINE_HEIGHT = 22;
const GAP = 2;
/** Side of a square, by how many hosts there are. */
const SIDES = [
  { upTo: 60, side: 40 },
  { upTo: 600, side: 20 },
  { upTo: 3_000, side: 12 },
  { upTo: Infinity, side: 7 },
] as const;

/** Each group under its name, row by row. */
export function gridOf(groups: readonly HostGroup[], width: number): Grid {
  const count = groups.reduce((sum, { hosts }) => sum + hosts.length, 0);
  const side = SIDES.find(({ upTo }) => count <= upTo)?.side ?? 7;
  const columns = Math.max(1, Math.floor(width / (side + GAP)));
  const squares: Square[] = [];
  const lines: GridLine[] = [];
  let y = 0;
  for (const { domain, hosts } of groups) {
    lines.push({ y, text: `${domain} · ${String(hosts.length)}` });
    y += LINE_HEIGHT;
    for (const [at, status] of hosts.entries())
      squares.push({
        x: (at % columns) * (side + GAP),
        y: y + Math.floor(at / columns) * (side + GAP),
        status,
      });
    y += Math.ceil(hosts.length / columns) * (side + GAP) + GAP;
  }
  return { height: y, side, squares, lines };
}

/** @returns null: there is no host at this point */
export function squareAt({ squares, side }: Grid, x: number, y: number): Square | null {
  return squares.find((one) => x >= one.x && x < one.x + side && y >= one.y && y < one.y + side) ?? null;
}

/** What keeps the host from new work, in a word; null: nothing. */
export function troubleOf({ eligibility, alive, staleSinceMs }: HostStatus): string | null {
  if (eligibility !== null && eligibility.state !== 'ready') return eligibility.state;
  if (!alive) return 'no session';
  return staleSinceMs === null ? null : 'silent';
}
