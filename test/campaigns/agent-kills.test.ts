import { afterAll, expect, it } from 'vitest';
import { killAgents } from '../../bench/host/soak/agent-kills.ts';
import { beginAgentProcess, ROOMY } from '../../bench/host/host-process.ts';
import { describeNeeding, firstMissing, program } from '../support/needs.ts';
import { BUILT_AGENT, buildShim, stateFolder } from '../support/real-host.ts';

const tools = stateFolder();
const shim = buildShim(tools.path);
const KILLS = 10;
const LIFE = { linesPerLife: 1_000, signalsPerLife: 30 };

afterAll(() => tools[Symbol.dispose]());

describeNeeding(
  firstMissing(shim === null ? 'there is no C compiler' : null, program('python3')),
  'an agent that is killed again and again',
  () => {
    it('I13 I21 I23 I26 I28 S2.4 S2.7 S2.8 S2.15 S2.16 loses and doubles no byte, no signal, no command and no end', async () => {
      using folder = stateFolder();
      // Another one each time, and told, so that it can be had again.
      const seed = Date.now() % 1_000_000;
      process.stdout.write(`agent kills: seed ${String(seed)}\n`);
      const worker = { argv: [BUILT_AGENT], shim: shim ?? '', more: ROOMY };
      const begin = () => beginAgentProcess(folder.path, worker);
      const found = await killAgents({ kills: KILLS, seed, begin, ...LIFE }, folder.path);
      const { signalsSent, commands, lines } = found;
      const said = `seed ${String(seed)}: ${JSON.stringify(found)}`;
      expect(found, said).toMatchObject({
        inputMatches: true,
        outputMatches: true,
        signalsReceived: signalsSent,
        end: { exit: { code: 7 } },
        runs: 1,
        commands: { ordered: commands.ordered, ranOnce: commands.ordered },
      });
      expect(found.kills, said).toBeGreaterThanOrEqual(KILLS);
      expect(lines, said).toBeGreaterThan(0);
      expect(signalsSent, said).toBeGreaterThan(0);
    });
  },
);
