import type { MonitorAddress } from '../../src/wire/api/cell-api.ts';
import type { ReportSource } from '../../src/runtime/reports/stream-reader.ts';
import type { CellCopy } from './view.ts';

/** The monitors that are registered, by id. */
export function monitorsOf({ roles }: Pick<CellCopy, 'roles'>): readonly MonitorAddress[] {
  return [...roles.rows()]
    .flatMap(([, { value }]) => (value.kind === 'monitor' ? [{ id: value.id, address: value.address }] : []))
    .sort((a, b) => a.id.localeCompare(b.id));
}

/** The other monitors, as sources of what they hear of hosts. */
export function peersOf(copy: Pick<CellCopy, 'roles'>, self: string): readonly ReportSource[] {
  return monitorsOf(copy).flatMap(({ id, address }) => (id === self ? [] : [{ name: id, url: address }]));
}

/** Whether a page that a monitor of the cell served may call: it has the origin of one. */
export function isOfMonitor(copy: Pick<CellCopy, 'roles'>, origin: string): boolean {
  return monitorsOf(copy).some(({ address }) => URL.canParse(address) && new URL(address).origin === origin);
}
