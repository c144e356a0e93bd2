import { stat, statfs } from 'node:fs/promises';
import { arch, availableParallelism, hostname, platform, release, totalmem } from 'node:os';
import type { Resources } from '../../core/cell/resources.ts';
import { NO_SCALARS } from '../../core/cell/resources.ts';

const MIB = 1024 * 1024;

/** What this machine has. @param folder on the disk that counts */
export async function machineCapacity(folder: string): Promise<Resources> {
  const disk = await statfs(folder);
  // A container's limit; without one Node gives a very large number.
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(totalmem(), limit) : totalmem();
  return {
    cpuMilli: availableParallelism() * 1000,
    memoryMib: Math.floor(memory / MIB),
    diskMib: Math.floor((disk.bavail * disk.bsize) / MIB),
    scalars: NO_SCALARS,
  };
}

export function machineAttributes(): Record<string, string> {
  return { os: platform(), arch: arch(), hostname: hostname(), kernel: release() };
}

/** The kernel's split of a device's number: twelve bits of it, and twenty. */
const [MAJOR_SHIFT, MAJOR_MASK, MINOR_LOW] = [8, 0xfff, 0xff];

/** What a path below `/dev` is a node of; null: of no device. */
export async function deviceNode(path: string) {
  const about = await stat(path).catch(() => null);
  if (about === null || (!about.isCharacterDevice() && !about.isBlockDevice())) return null;
  const { rdev } = about;
  const major = (rdev >>> MAJOR_SHIFT) & MAJOR_MASK;
  // The rest of the minor number lies above the major one.
  const minor = (rdev & MINOR_LOW) | ((rdev >>> (MAJOR_SHIFT + 4)) & ~MINOR_LOW);
  return { path, type: about.isBlockDevice() ? ('b' as const) : ('c' as const), major, minor };
}
