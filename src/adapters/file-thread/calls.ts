import { errorText } from '../../core/errors/errors.ts';
import type { CgroupErrorCode, Cgroups } from '../../ports/cgroups.ts';
import { CgroupError } from '../../ports/cgroups.ts';
import type { Disk, DiskErrorCode } from '../../ports/disk.ts';
import { DiskError } from '../../ports/disk.ts';

/** Messages between an agent's thread and the one that changes its files: lists, so that one message carries many. */

export interface ThreadPorts {
  readonly disk: Disk;
  readonly cgroups: Cgroups;
}

export interface Call {
  readonly id: number;
  readonly port: keyof ThreadPorts;
  readonly method: string;
  readonly args: readonly unknown[];
}

export type Answer =
  { readonly id: number; readonly value: unknown } | { readonly id: number; readonly fault: Fault };

/** An error, which loses its class between threads. */
export interface Fault {
  readonly kind: 'disk' | 'cgroup' | 'other';
  readonly code: string;
  readonly message: string;
}

export function faultOf(error: unknown): Fault {
  const message = errorText(error);
  if (error instanceof DiskError) return { kind: 'disk', code: error.code, message };
  if (error instanceof CgroupError) return { kind: 'cgroup', code: error.code, message };
  return { kind: 'other', code: '', message };
}

export function errorOf({ kind, code, message }: Fault): Error {
  if (kind === 'disk') return new DiskError(code as DiskErrorCode, message);
  if (kind === 'cgroup') return new CgroupError(code as CgroupErrorCode, message);
  return new Error(message);
}
