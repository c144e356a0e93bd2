import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { beforeAll, expect, it } from 'vitest';
import { linuxCgroups } from '../../src/adapters/processes/cgroups.ts';
import type { LimitsFacts } from '../support/limits-scenarios.ts';
import { IO_BYTES_MAX, limitsFacts } from '../support/limits-scenarios.ts';
import { describeNeeding, firstMissing, root } from '../support/needs.ts';
import { kernelMissing, runInKernel } from '../support/user-mode-linux.ts';

const mounts = await linuxCgroups().mounts();
const noGroups = mounts.length === 0 ? 'no control groups are mounted' : null;

describeNeeding(firstMissing(root(), noGroups), 'limits on this machine', () => {
  expectLimits(() => limitsFacts(`test-${randomUUID()}`, tmpdir()));

  it('v2 is taken where it has the controller, else v1', () => {
    const v2 = mounts.some((mount) => mount.version === 2 && mount.controllers.includes('memory'));
    expect(facts.enforced.memory).toBe(v2 ? 'v2' : 'v1');
  });
});

describeNeeding(kernelMissing(), 'limits under a kernel that has v2 alone', () => {
  expectLimits(() => runInKernel<LimitsFacts>('limits-in-kernel.ts'));

  it('v2 holds everything that it has a controller for', () => {
    expect(facts.enforced).toEqual({ cpu: 'v2', memory: 'v2', pids: 'v2', devices: 'none', io: 'v2' });
  });

  it('io.max holds also what goes through the page cache', () => {
    expect(facts.io?.synced).toBeLessThan(IO_RATE_MAX);
  });

  it('memory.high holds a task back without killing it', () => {
    expect(facts.high).toEqual({ events: true, oomKills: 0 });
  });
});

let facts: LimitsFacts;
/** The kernel gives out the first part of a second at once. */
const IO_RATE_MAX = 1.5 * IO_BYTES_MAX;

function expectLimits(gather: () => Promise<LimitsFacts>): void {
  beforeAll(async () => {
    facts = await gather();
  });

  it('I35 over its memory limit a task is killed, counted, and no other one', () => {
    expect(facts.hog.signal).toBe('SIGKILL');
    // v2 counts the one that was chosen again when it ends all of its group.
    expect(facts.hog.oomKills).toBeGreaterThanOrEqual(1);
    expect(facts.hog.peakMib).toBeLessThanOrEqual(24);
    expect(facts.neighbour).toEqual({ alive: true, oomKills: 0 });
  });

  it('a task never gets more CPU time than its limit', () => {
    expect(facts.throttledPeriods).toBeGreaterThanOrEqual(3);
  });

  it('a fork bomb stays within its bound', () => {
    expect(facts.bomb.refused).toBe(true);
    expect(facts.bomb.pids).toBeLessThanOrEqual(20);
  });

  it('a task reads and writes no faster than its limits', () => {
    if (facts.io === null) return expect(facts.enforced.io).toBe('none');
    expect(facts.io.written).toBeLessThan(IO_RATE_MAX);
    expect(facts.io.read).toBeLessThan(IO_RATE_MAX);
    // The disk itself is not that slow.
    expect(facts.io.writtenFreely).toBeGreaterThan(facts.io.written);
  });

  it('I29 a kill leaves nothing: neither escaped nor stopped nor deaf processes', () => {
    expect(facts.killed.before).toBeGreaterThanOrEqual(5);
    expect(facts.killed.populatedAfter).toBe(false);
  });

  it('groups are removed when nothing is in them, and not before', () => {
    expect(facts.destroyed).toEqual({ whilePopulated: false, afterKill: true });
  });

  it('a task can be frozen', () => {
    expect(facts.frozen).toBe('FROZEN');
  });

  it('limits of a task that runs can be raised and lowered', () => {
    expect([facts.raised, facts.lowered]).toEqual(['done', 'done']);
  });

  it('lists the groups of this host and of no other', () => {
    expect(facts.listed).toEqual({ own: ['hog', 'neighbour'], others: [], after: [] });
  });
}
