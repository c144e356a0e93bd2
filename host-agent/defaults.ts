import type { PortRange } from '../src/core/host/host.ts';
import type { Resources } from '../src/core/cell/resources.ts';
import { NO_SCALARS } from '../src/core/cell/resources.ts';
import type { AgentSettings } from './agent-context.ts';

/** Below the range from which the kernel takes ports for outgoing connections, which would steal them from tasks. */
export const PORT_RANGE: PortRange = { first: 20_000, last: 29_999 };

/** A scheduler's store keeps a dead host's key for up to twice this. */
export const ALIVE_TTL_MS = 10_000;

const MIB = 1024 * 1024;

/** 16 MiB of each stream of each attempt at most; the bound holds while no agent lives. */
export const AGENT_SETTINGS: AgentSettings = {
  logBounds: { segmentBytes: 2 * MIB, segmentsMax: 8 },
  hostEnv: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
  attemptsKept: 3,
  freeBytesMin: 64 * MIB,
  allocationsMax: 4_096,
  artifactBytesMax: 10 * 1024 * MIB,
  addresses: [],
  leaseRestMs: 10_000,
  desertedMs: 600_000,
};

/** Health checks of all tasks of a host under way at one time; the others wait. */
export const CHECKS_AT_ONCE_MAX = 16;

const RESERVED_CPU_MILLI = 100;
const RESERVED_MEMORY_MIB = 256;
const RESERVED_MEMORY_PARTS = 20;

/** Headroom for the system and the agent (S3.4): a tenth of a core, and 256 MiB or a twentieth, whichever is less. */
export function reservedOf(capacity: Resources): Resources {
  return {
    cpuMilli: Math.min(RESERVED_CPU_MILLI, capacity.cpuMilli),
    memoryMib: Math.min(RESERVED_MEMORY_MIB, Math.floor(capacity.memoryMib / RESERVED_MEMORY_PARTS)),
    diskMib: 0,
    scalars: NO_SCALARS,
  };
}
