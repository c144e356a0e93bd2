import { expect, it } from 'vitest';
import { HostAgent } from '../../../host-agent/agent.ts';
import { AGENT_SETTINGS } from '../../../host-agent/defaults.ts';
import { sha256Hex } from '../../../src/adapters/system/digest.ts';
import { someStart } from '../../support/host-orders.ts';
import { HOST_FACTS, HostWorld } from '../../support/host-world.ts';

it('a hollow host says that nothing can be run or attached to there, whatever is asked', async () => {
  const world = new HostWorld();
  const facts = { ...HOST_FACTS, attributes: { hollow: 'true' } };
  const agent = await HostAgent.open(
    world.ports,
    facts,
    { verifier: null, digest: sha256Hex },
    AGENT_SETTINGS,
  );
  const { id } = await agent.start(someStart());
  const detail =
    'host-a is a hollow host: its tasks only take time, and nothing can be run in them or attached to them';
  const refused = { problem: { status: 409, code: 'hollow', detail } };
  await expect(agent.exec(id, { commandId: 'c1', command: ['true'] })).rejects.toMatchObject(refused);
  const ask = { stdout: 0, stderr: 0, session: '', input: 'free' as const };
  await expect(agent.attach(id, {}, ask)).rejects.toMatchObject(refused);
  await agent.close();
});
