import { expect, it } from 'vitest';
import { NetworkRules } from '../../../../host-agent/network/network.ts';
import { elementsText, tableOf } from '../../../../host-agent/network/ruleset.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { Commands } from '../../../../src/ports/commands.ts';

/** Commands that end when they are told to. */
class SlowCommands {
  readonly texts: string[] = [];
  #end: (() => void)[] = [];

  readonly run: Commands['run'] = async (argv) => {
    this.texts.push(argv.at(-1) ?? '');
    await new Promise<void>((end) => this.#end.push(end));
    return { code: 0, out: '', err: '' };
  };

  /** Ends all that run, until no further one begins. */
  async settle(): Promise<void> {
    while (this.#end.length > 0) {
      for (const end of this.#end.splice(0)) end();
      await new Promise(setImmediate);
    }
  }
}

it('I68 of many changes while one is made, the last is made after it', async () => {
  const commands = new SlowCommands();
  const deps = { commands, log: silentLog, stateId: 's1', folder: '/state', users: [] };
  const opening = NetworkRules.open(deps);
  await commands.settle();
  const rules = await opening;
  const before = commands.texts.length;
  const ports = [1, 2, 3, 4];
  const at = (port: number) => [{ address: '10.0.0.1', port, local: false }];
  const [first = 0, ...others] = ports;
  rules?.update(at(first));
  await new Promise(setImmediate);
  for (const port of others) rules?.update(at(port));
  await commands.settle();
  const made = commands.texts.slice(before);
  expect(made).toEqual([1, 4].map((port) => elementsText(tableOf('s1'), at(port))));
});
