import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { webSocketClient } from '../../src/adapters/http/channel-client.ts';
import { systemClock, systemRandom } from '../../src/adapters/system/system.ts';
import { AttachSession } from '../../src/clients/attach-session.ts';
import { DriverWorld } from '../support/driver-world.ts';
import { someStart, someTask } from '../support/host-orders.ts';
import { describeNeeding, program } from '../support/needs.ts';

/** Is it a beginning of each, one after the other? Where one ends may be seen only by what follows. */
function isBeginnings(text: string, [first, ...others]: readonly string[]): boolean {
  if (first === undefined) return text === '';
  let length = 0;
  while (length < first.length && first[length] === text[length]) length += 1;
  for (; length > 0; length--) if (isBeginnings(text.slice(length), others)) return true;
  return false;
}

describeNeeding(program('cc'), 'several clients that type', () => {
  const world = new DriverWorld();
  let id: string;
  const leave = new AbortController();
  const runs: Promise<unknown>[] = [];
  beforeAll(() => world.open());
  afterAll(() => world.close());
  beforeEach(async () => {
    const task = someTask({ command: ['cat'], stdin: true, stop: { signal: 'SIGTERM', graceMs: 100 } });
    id = await world.start(someStart({ tasks: [task] }));
    await world.until(id, ({ state }) => state === 'running');
  });
  afterEach(() => world.stop(id));
  afterAll(async () => {
    leave.abort();
    await Promise.all(runs);
  });

  interface Typist {
    readonly session: AttachSession;
    readonly held: Promise<void>;
    write(text: string): Promise<void>;
  }

  function typist(input: 'none' | 'free' | 'take'): Typist {
    let onHeld = (): void => undefined;
    const held = new Promise<void>((told) => (onHeld = told));
    const session = new AttachSession(
      { allocation: id },
      {
        channels: webSocketClient(),
        ...{ clock: systemClock, random: systemRandom, input, onHeld },
        addresses: () => [world.agent.address],
        onOutput: () => undefined,
      },
    );
    runs.push(session.run(leave.signal));
    return { session, held, write: (text) => session.write(Buffer.from(text)) };
  }

  it('the first holds the input, others are told that they only read, and --take takes it over', async () => {
    const first = typist('free');
    await first.write('one\n');
    await world.said(id, 'one\n');
    const second = typist('free');
    await second.held;
    await second.write('lost\n');
    const reader = typist('none');
    await reader.write('lost too\n');
    await first.write('two\n');
    await world.said(id, 'two\n');
    const taker = typist('take');
    await first.held;
    await first.write('lost as well\n');
    await taker.write('three\n');
    await world.said(id, 'three\n');
    expect(await world.output(id)).toBe('one\ntwo\nthree\n');
  });

  it('S2.7 whoever takes over: what arrives is what each wrote while it held the input, each byte once, in order', async () => {
    const LINES = 2_000;
    const lines = (who: number): string =>
      Array.from({ length: LINES }, (_, n) => `${String(who)}:${String(n)}\n`).join('');
    const writers: Typist[] = [];
    for (let who = 0; who < 4; who++) {
      const writer = typist('take');
      writers.push(writer);
      void writer.write(lines(who));
      // The next one comes while this one's lines are on their way.
      await world.said(id, `${String(who)}:0\n`);
      if (who > 0) await writers[who - 1]?.held;
    }
    await world.said(id, `3:${String(LINES - 1)}\n`);
    const output = await world.output(id);
    // Of each a beginning of what it wrote, one after the other: perhaps cut within a line, never mixed.
    expect(isBeginnings(output, [0, 1, 2, 3].map(lines)), output).toBe(true);
  });
});
