import { describe, expect, it } from 'vitest';
import { forbiddenIn, policyAttributes } from '../../../../host-agent/orders/policy.ts';
import { someStart, someTask } from '../../../support/host-orders.ts';

const OWN = { user: true, view: true, ids: true };

describe('what a host allows tasks', () => {
  it('I68 is told as attributes, also by a host whose operator says nothing', () => {
    expect(policyAttributes(undefined, OWN)).toEqual({
      'allow.agent-user': 'false',
      'allow.host-network': 'true',
      'allow.root': 'true',
      'allow.system': 'false',
    });
    expect(policyAttributes(['host-network'], OWN)).toMatchObject({ 'allow.root': 'false' });
    expect(policyAttributes(['root'], { ...OWN, ids: false })).toMatchObject({ 'allow.root': 'false' });
    expect(policyAttributes([], OWN)).toMatchObject({ 'allow.host-network': 'false' });
  });

  it('I68 where all tasks run as the agent’s user, to ask for that is to ask for nothing', () => {
    expect(policyAttributes([], { user: false, view: false, ids: false })).toMatchObject({
      'allow.agent-user': 'true',
    });
  });

  it('I68 names what a launch asks beyond that', () => {
    const host = { attributes: policyAttributes([], OWN) };
    const forbidden = (...tasks: Parameters<typeof someTask>): string | null =>
      forbiddenIn(someStart({ tasks: tasks.map((task) => someTask(task)) }).launch, 'default', host);
    expect(forbidden({})).toBeNull();
    expect(forbidden({ user: 'agent' })).toBe('agent-user');
    expect(forbidden({ driver: 'sandbox', network: 'host' })).toBe('host-network');
    expect(forbidden({ driver: 'sandbox', network: 'none' })).toBeNull();
    expect(forbidden({ driver: 'sandbox', user: 'root' })).toBe('root');
    const open = { attributes: policyAttributes(['agent-user', 'host-network'], OWN) };
    expect(
      forbiddenIn(someStart({ tasks: [someTask({ user: 'agent' })] }).launch, 'default', open),
    ).toBeNull();
    const ours = someStart({ tasks: [someTask({ user: 'agent' })] }).launch;
    expect(forbiddenIn(ours, 'system', host)).toBe('system');
    expect(forbiddenIn(ours, 'system', open)).toBe('system');
    const system = { attributes: policyAttributes(['system'], OWN) };
    expect(forbiddenIn(ours, 'system', system)).toBeNull();
    expect(forbiddenIn(ours, 'default', system)).toBe('agent-user');
  });
});
