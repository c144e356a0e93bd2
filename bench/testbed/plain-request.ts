import type { Group } from '../../src/core/cell/job.ts';
import type { Resources } from '../../src/core/cell/resources.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';

/** A group without constraints and preferences, but for what `part` says. */
export function makeGroup(part: Partial<Group> = {}): Group {
  return {
    name: 'web',
    count: 1,
    parallelism: null,
    gang: false,
    ports: {},
    constraints: [],
    affinities: [],
    spread: [],
    distinct: [],
    tasks: {},
    restart: { attempts: 0, windowMs: 0, delayMs: 0, on: 'never' },
    reschedule: { attempts: 0, delayMs: 0, delayMaxMs: 0, onHostLost: false },
    deadlineMs: null,
    waitMaxMs: null,
    ...part,
  };
}

export function amounts(cpuMilli: number, memoryMib: number): Resources {
  return { cpuMilli, memoryMib, diskMib: 0, scalars: NO_SCALARS };
}

/** A request for one allocation of such a group, but for what `part` says. */
export function makeRequest(
  part: Partial<PlacementRequest> = {},
  cpuMilli = 100,
  memoryMib = 200,
): PlacementRequest {
  return {
    namespace: 'default',
    job: 'job',
    group: makeGroup({}),
    ask: { resources: amounts(cpuMilli, memoryMib), gpu: null, ports: {} },
    precedence: 50,
    count: 1,
    hostsHeld: [],
    avoidHosts: [],
    refusingHosts: [],
    ...part,
  };
}
