import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReportFeed } from '../../../../host-agent/allocations/report-feed.ts';
import type { AllocationReport, HostReport } from '../../../../src/core/host/report.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { someStart } from '../../../support/host-orders.ts';

const world = new HostWorld();
await world.open();
await world.agent.start(someStart());
const model = world.agent.listing().allocations[0] as AllocationReport;

function reportOf(id: string, restarts: number): AllocationReport {
  return { ...model, id, restarts };
}

/** Everything that a reader is sent at once. */
async function readNow(
  feed: ReportFeed,
  from: { incarnation: number; seq: number } | null,
): Promise<HostReport[]> {
  const stop = new AbortController();
  const lines = feed.read(from, stop.signal);
  stop.abort();
  const messages: HostReport[] = [];
  for await (const line of lines) messages.push(JSON.parse(line) as HostReport);
  return messages;
}

/** A reader from now on, message by message. */
function readerOf(feed: ReportFeed): {
  readonly stop: AbortController;
  readonly next: () => Promise<HostReport>;
} {
  const stop = new AbortController();
  const lines = feed.read(null, stop.signal)[Symbol.asyncIterator]();
  return { stop, next: async () => JSON.parse(String((await lines.next()).value)) as HostReport };
}

function applied(view: Map<string, number>, messages: readonly HostReport[]): void {
  for (const message of messages) {
    if (message.kind === 'full') view.clear();
    if (message.kind === 'full') for (const one of message.allocations) view.set(one.id, one.restarts);
    if (message.kind === 'change') view.set(message.allocation.id, message.allocation.restarts);
    if (message.kind === 'gone') view.delete(message.id);
  }
}

describe('the report feed', () => {
  it('begins with a full report, and says what it is of', async () => {
    const feed = new ReportFeed('host-a', 7, world.clock);
    feed.changed(reportOf('a1', 0));
    const [first] = await readNow(feed, null);
    expect(first).toMatchObject({ kind: 'full', host: 'host-a', incarnation: 7, seq: 1 });
  });

  it('who resumes from any point ends where a new reader ends', async () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean()), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(30), async (all, cut) => {
        const feed = new ReportFeed('host-a', 7, world.clock);
        const view = new Map<string, number>();
        let seen = 0;
        for (const [i, [id, gone]] of all.entries()) {
          if (i === cut) {
            applied(view, await readNow(feed, null));
            seen = feed.seq;
          }
          if (gone) feed.gone(id);
          else feed.changed(reportOf(id, i));
        }
        if (cut >= all.length) return;
        const missed = await readNow(feed, { incarnation: 7, seq: seen });
        expect(missed.every((message) => message.kind !== 'full')).toBe(true);
        expect(missed.map((message) => message.seq)).toEqual(
          missed.map((message) => message.seq).sort((a, b) => a - b),
        );
        applied(view, missed);
        const fresh = new Map<string, number>();
        applied(fresh, await readNow(feed, null));
        expect(new Map([...view].sort())).toEqual(new Map([...fresh].sort()));
      }),
      { numRuns: 200 },
    );
  });

  it('a reader that stays gets what is newest, in order of its numbers, and what comes to run soon in one message', async () => {
    const known: AllocationReport['state'][] = [
      'accepted',
      'preparing',
      'running',
      'stopping',
      'killed',
      'complete',
    ];
    const states = fc.constantFrom(...known);
    const steps = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.oneof(states, fc.constant('gone'), fc.constant('wait'))),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const clock = new ManualClock();
        const feed = new ReportFeed('host-a', 7, clock);
        const lines = feed.read(null, new AbortController().signal);
        for (const [i, [id, what]] of all.entries()) {
          if (what === 'wait') await clock.advance(100);
          else if (what === 'gone') feed.gone(id);
          else feed.changed({ ...reportOf(id, i), state: what });
        }
        await clock.advance(100);
        const newest = new Map(feed.reports().map(({ id, restarts }) => [id, restarts]));
        feed.close();
        const messages: HostReport[] = [];
        for await (const line of lines) messages.push(JSON.parse(line) as HostReport);
        const seqs = messages.map(({ seq }) => seq);
        expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
        const view = new Map<string, number>();
        applied(view, messages);
        expect(view).toEqual(newest);
      }),
      { numRuns: 200 },
    );
  });

  it('what is on the way to running waits for what follows, and not for long', async () => {
    const clock = new ManualClock();
    const feed = new ReportFeed('host-a', 7, clock);
    const { stop, next } = readerOf(feed);
    expect((await next()).kind).toBe('full');
    feed.changed({ ...reportOf('a1', 0), state: 'accepted' });
    feed.changed({ ...reportOf('a1', 0), state: 'running' });
    expect(await next()).toMatchObject({ kind: 'change', seq: 2, allocation: { state: 'running' } });
    feed.changed({ ...reportOf('a2', 0), state: 'accepted' });
    expect(feed.reports().map(({ id }) => id)).toContain('a2');
    await clock.advance(100);
    expect(await next()).toMatchObject({ kind: 'change', seq: 3, allocation: { state: 'accepted' } });
    stop.abort();
  });

  it('S0.9 sends beats as seldom as the most demanding of its readers needs them', async () => {
    const clock = new ManualClock();
    const feed = new ReportFeed('host-a', 7, clock);
    const [patient, other] = [new AbortController(), new AbortController()];
    const beats: number[] = [];
    const reading = (async (): Promise<void> => {
      for await (const line of feed.read(null, patient.signal, 10_000))
        if ((JSON.parse(line) as HostReport).kind === 'beat') beats.push(clock.nowMs());
    })();
    const startMs = clock.nowMs();
    const pass = async (seconds: number): Promise<void> => {
      for (let n = 0; n < seconds; n++) {
        await clock.advance(1_000);
        feed.beat(clock.nowMs());
      }
      await clock.advance(0);
    };
    await pass(25);
    expect(beats.splice(0).map((ms) => ms - startMs)).toEqual([10_000, 20_000]);
    feed.read(null, other.signal, 2_000);
    await pass(5);
    expect(beats.splice(0)).toHaveLength(3);
    other.abort();
    await pass(20);
    expect(beats).toHaveLength(2);
    patient.abort();
    await reading;
  });

  it('from an order to stop to the release is one message, unless it takes long', async () => {
    const clock = new ManualClock();
    const feed = new ReportFeed('host-a', 7, clock);
    const { stop, next } = readerOf(feed);
    expect((await next()).kind).toBe('full');
    const ends = [
      { state: 'stopping', released: false },
      { state: 'killed', released: false },
      { state: 'killed', released: true },
    ] as const;
    for (const end of ends) feed.changed({ ...reportOf('a1', 0), ...end });
    expect(await next()).toMatchObject({ kind: 'change', seq: 3, allocation: { released: true } });
    feed.changed({ ...reportOf('a2', 0), state: 'stopping' });
    await clock.advance(100);
    expect(await next()).toMatchObject({ kind: 'change', seq: 4, allocation: { state: 'stopping' } });
    feed.changed({ ...reportOf('a3', 0), state: 'complete', released: false });
    expect(await next()).toMatchObject({ kind: 'change', seq: 5, allocation: { state: 'complete' } });
    stop.abort();
  });

  it('another incarnation, a number from the future, or too long an absence: everything anew', async () => {
    const feed = new ReportFeed('host-a', 7, world.clock);
    feed.changed(reportOf('a1', 0));
    expect((await readNow(feed, { incarnation: 6, seq: 1 }))[0]?.kind).toBe('full');
    expect((await readNow(feed, { incarnation: 7, seq: 2 }))[0]?.kind).toBe('full');
    expect((await readNow(feed, { incarnation: 7, seq: 1 }))[0]?.kind).toBe('beat');
    for (let i = 0; i < 1_100; i++) {
      feed.changed(reportOf(`x${String(i)}`, 0));
      feed.gone(`x${String(i)}`);
    }
    expect((await readNow(feed, { incarnation: 7, seq: 1 }))[0]?.kind).toBe('full');
    expect((await readNow(feed, { incarnation: 7, seq: feed.seq - 10 }))[0]?.kind).not.toBe('full');
  });

  it('an incarnation only grows, and every reader must come again', async () => {
    const feed = new ReportFeed('host-a', 7, world.clock);
    const lines = feed.read(null, new AbortController().signal);
    feed.raiseIncarnation(9);
    const seen: string[] = [];
    for await (const line of lines) seen.push(line);
    expect(seen).toHaveLength(1);
    expect(() => feed.raiseIncarnation(9)).toThrow();
    expect((await readNow(feed, { incarnation: 7, seq: 0 }))[0]).toMatchObject({
      kind: 'full',
      incarnation: 9,
    });
  });
});
