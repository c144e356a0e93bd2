import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InputMode, Writer } from '../../../../host-agent/io/input-holders.ts';
import { InputHolders } from '../../../../host-agent/io/input-holders.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

class Client implements Writer {
  readonly session: string;
  writes = false;

  constructor(session: string) {
    this.session = session;
  }

  async lose(): Promise<void> {
    this.writes = false;
  }
}

describe('who types', () => {
  const clock = new ManualClock();
  const holders = new InputHolders(clock);
  const claim = async (client: Client, wish: InputMode, name = 'a.main.1'): Promise<boolean> => {
    client.writes = await holders.claim(name, client, wish);
    return client.writes;
  };

  it('is the first, until it leaves or another takes the input', async () => {
    const [first, second, reader] = ['s1', 's2', 's3'].map((session) => new Client(session)) as [
      Client,
      Client,
      Client,
    ];
    expect(await claim(reader, 'none')).toBe(false);
    expect(await claim(first, 'free')).toBe(true);
    expect(await claim(second, 'free')).toBe(false);
    expect(await claim(second, 'free', 'b.main.1')).toBe(true);
    expect(await claim(second, 'take')).toBe(true);
    expect(first.writes).toBe(false);
    // Its connection is over later than its turn.
    holders.leave('a.main.1', first, false);
    expect(await claim(first, 'free')).toBe(false);
    holders.leave('a.main.1', second, true);
    expect(await claim(first, 'free')).toBe(true);
  });

  it('who was cut has a few seconds to come again, and nobody else comes between', async () => {
    const [before, again, other] = ['s1', 's1', 's2'].map((session) => new Client(session)) as [
      Client,
      Client,
      Client,
    ];
    const name = 'c.main.1';
    await claim(before, 'free', name);
    holders.leave(name, before, false);
    expect(await claim(other, 'free', name)).toBe(false);
    expect(await claim(again, 'free', name)).toBe(true);
    holders.leave(name, again, false);
    await clock.advance(5_000);
    expect(await claim(other, 'free', name)).toBe(true);
  });

  it('is never more than one', async () => {
    const step = fc.record({
      client: fc.nat({ max: 3 }),
      what: fc.constantFrom<InputMode | 'leave' | 'end' | 'wait'>(
        'none',
        'free',
        'take',
        'leave',
        'end',
        'wait',
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const all = new InputHolders(clock);
        const clients = Array.from({ length: 4 }, (_, n) => new Client(`s${String(n)}`));
        for (const { client: index, what } of steps) {
          const client = clients[index];
          if (client === undefined) continue;
          if (what === 'wait') await clock.advance(2_000);
          else if (what === 'leave' || what === 'end') {
            all.leave('x', client, what === 'end');
            client.writes = false;
          } else if (!client.writes) client.writes = await all.claim('x', client, what);
          expect(clients.filter((one) => one.writes).length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
