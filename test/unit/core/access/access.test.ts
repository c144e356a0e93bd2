import { describe, expect, it } from 'vitest';
import type { Right } from '../../../../src/core/access/access.ts';
import {
  assertRights,
  holdersOf,
  isForAnybody,
  mayUse,
  RIGHTS,
  sees,
} from '../../../../src/core/access/access.ts';
import type { IdentityRole } from '../../../../src/core/access/identity.ts';
import { IDENTITY_ROLES } from '../../../../src/core/access/identity.ts';
import { SCOPES } from '../../../../src/core/access/person.ts';
import { SYSTEM_NAMESPACE } from '../../../../src/core/cell/ids.ts';

function rightsOf(role: IdentityRole): readonly Right[] {
  return RIGHTS.filter((right) => !isForAnybody(right) && mayUse({ cell: 'c', role, id: 'x' }, right));
}

describe('rights', () => {
  it('S4.13 a scheduler writes no jobs and no limits, and enters no task', () => {
    expect(rightsOf('scheduler')).toEqual(['health', 'read', 'names', 'reports', 'start', 'stop', 'tickets']);
  });

  it('an agent asks for names and for the rate of its fetches, a member of the store has no right at all', () => {
    expect(rightsOf('agent')).toEqual(['health', 'names', 'fetch-slices']);
    expect(sees({ role: 'agent', cell: 'dev', id: 'host-1' }, 'team-a')).toBe(true);
    expect(sees({ role: 'agent', cell: 'dev', id: 'host-1' }, SYSTEM_NAMESPACE)).toBe(false);
    expect(rightsOf('etcd')).toEqual([]);
  });

  it('a monitor starts nothing and asks for no ticket', () => {
    expect(rightsOf('monitor')).toEqual(['health', 'metrics', 'read', 'names', 'reports', 'relay', 'stop']);
  });

  it('an arbiter reads what runs, and nothing else', () => {
    expect(rightsOf('arbiter')).toEqual(['health', 'reports', 'grants']);
  });

  it('an operator does not act as a scheduler, nor on a host what goes through a monitor', () => {
    const not = RIGHTS.filter((right) => !rightsOf('operator').includes(right));
    expect(not.filter((right) => !isForAnybody(right))).toEqual([
      'relay',
      'start',
      'tickets',
      'fetch-slices',
      'join',
    ]);
  });

  it('who reaches a server without credentials counts as trusted', () => {
    expect(RIGHTS.every((right) => mayUse(null, right))).toBe(true);
  });

  it('who was invited may join, which nobody else may, and nothing else', () => {
    const invited = { role: 'invited', id: 'i', host: 'h' } as const;
    expect(RIGHTS.filter((right) => mayUse(invited, right))).toEqual(['join']);
    expect(holdersOf('join')).toEqual([]);
  });

  it('what the cell itself consists of is seen by those who operate it', () => {
    const person = { role: 'person', id: 'p', name: 'bob', endsAtMs: 0 } as const;
    const seeing = SCOPES.filter((scope) => sees({ ...person, scope, namespaces: null }, 'system'));
    expect(seeing).toEqual(['operate', 'admin']);
    expect(sees({ ...person, scope: 'submit', namespaces: ['system'] }, 'system')).toBe(false);
    expect(sees({ cell: 'c', role: 'operator', id: 'ann' }, 'system')).toBe(true);
  });

  it('28 S4.13 nobody is asked who it is for the files of the page, and for nothing else', () => {
    expect(RIGHTS.filter(isForAnybody)).toEqual(['page']);
  });

  it('each right has somebody', () => {
    for (const right of RIGHTS.filter((one) => one !== 'join'))
      expect(holdersOf(right).length).toBeGreaterThan(0);
    expect(IDENTITY_ROLES.length).toBe(6);
  });

  it.each(['root', '', 'constructor', undefined])('a route with the right %s does not start', (right) => {
    const routes = [
      { path: '/v1/fine', right: 'read' as const },
      { path: '/v1/bare', right: right as Right },
    ];
    expect(() => assertRights(routes)).toThrow('/v1/bare declares no right');
  });
});
