import type { Group } from '../../src/core/cell/job.ts';

/** A group of one task that wishes for nothing, but for what is said. */
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
