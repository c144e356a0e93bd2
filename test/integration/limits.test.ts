import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { beforeAll, expect, it } from 'vitest';
import { linuxCgroups } from '../../src/adapters/limits/linux-cgroups.ts';
import type { LimitsFacts } from '../support/limits-scenarios.ts';
import { limitsFacts } from '../support/limits-scenarios.ts';
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
    expect(facts.enforced).toMatchObject({ cpu: 'v2', memory: 'v2', pids: 'v2' });
  });

  it('memory.high holds a task back without killing it', () => {
    expect(facts.high).toEqual({ events: true, oomKills: 0 });
  });
});

let facts: LimitsFacts;

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
