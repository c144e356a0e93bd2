import type { Exit } from '../../core/cell/allocation.ts';
import type { GpuShare, Resources } from '../../core/cell/resources.ts';

/** Short texts for cells of tables. */

/** `3s`, `5m`, `2h10m`, `4d`: the two largest units that matter. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${String(seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 10 ? joined(minutes, 'm', seconds % 60, 's') : `${String(minutes)}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return joined(hours, 'h', minutes % 60, 'm');
  return joined(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return `${String(large)}${largeUnit}${small === 0 ? '' : `${String(small)}${smallUnit}`}`;
}

/** The time since then; `-` when it never was. */
export function ago(nowMs: number, thenMs: number | null | undefined): string {
  return thenMs === null || thenMs === undefined ? '' : duration(nowMs - thenMs);
}

/** What it means that the store is away, for people (I57). */
export function storeAwayText(nowMs: number, sinceMs: number): string {
  return `the store has not answered for ${duration(nowMs - sinceMs)}: nothing is placed, moved or stopped until it does; what runs, runs on`;
}

export function clockTime(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}

export function cores(milli: number): string {
  return milli % 1000 === 0 ? String(milli / 1000) : (milli / 1000).toFixed(2).replace(/0$/, '');
}

export function size(mib: number): string {
  if (mib < 1024) return `${String(mib)}Mi`;
  const gib = mib / 1024;
  return gib < 1024 ? `${trim(gib)}Gi` : `${trim(gib / 1024)}Ti`;
}

function trim(amount: number): string {
  return amount >= 100 ? amount.toFixed(0) : amount.toFixed(1).replace(/\.0$/, '');
}

export function resources(amounts: Resources): string {
  return `${cores(amounts.cpuMilli)} cpu, ${size(amounts.memoryMib)}`;
}

export function gpus(milli: number): string {
  return milli % 1000 === 0 ? String(milli / 1000) : (milli / 1000).toFixed(2);
}

export function gpuShares(shares: readonly GpuShare[]): string {
  return gpus(shares.reduce((sum, share) => sum + share.milli, 0));
}

/** By label: `admin:20001,http:20000`. */
export function portsText(ports: Readonly<Record<string, number>>): string {
  return Object.entries(ports)
    .map(([label, port]) => `${label}:${String(port)}`)
    .sort()
    .join(',');
}

/** Whole files and databases. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? '' : `${((100 * part) / whole).toFixed(0)}%`;
}

/** `0.5/10 5%` */
export function usedOf(used: number, whole: number, show: (amount: number) => string): string {
  return `${show(used)}/${show(whole)} ${percent(used, whole)}`.trimEnd();
}

/** How it ended: `0`, `7`, `SIGKILL`, `lost: host-reboot`. */
export function exitText(exit: Exit | null | undefined): string {
  if (exit === null || exit === undefined) return '';
  if (exit.code !== undefined) return String(exit.code);
  return exit.signal ?? `lost: ${exit.lost ?? 'unknown'}`;
}

export function plural(count: number, thing: string): string {
  return `${String(count)} ${thing}${count === 1 ? '' : 's'}`;
}
