import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { HttpClient } from '../../../../src/ports/http.ts';
import { ReportFollower } from '../../../../src/runtime/reports/reports.ts';
import { sleep } from '../../../../src/runtime/wait/wait.ts';
import type { ReportFrame } from '../../../../src/wire/api/report-frames.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

let clock: ManualClock;
let follower: ReportFollower;
let names: string[];
/** Streams that were opened, by monitor. */
let opened: string[];

const view = (synced: boolean): ReportFrame => ({ kind: 'view', complete: true, synced });
const full = (host: string): ReportFrame => ({ kind: 'full', host, incarnation: 1, seq: 1, allocations: [] });
const silent = (host: string): ReportFrame => ({ kind: 'silent', host, silentMs: 60_000 });

/** A monitor of three hosts that hears one of them. */
async function* blind(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const frames = [view(false), ...['h1', 'h2', 'h3'].map(full), ...['h2', 'h3'].map(silent), view(true)];
  yield bytes(...frames);
  while (signal?.aborted !== true) {
    await sleep(clock, 1_000, signal);
    yield bytes(view(true));
  }
}

function bytes(...frames: readonly ReportFrame[]): Uint8Array {
  return new TextEncoder().encode(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''));
}

beforeEach(() => {
  clock = new ManualClock();
  names = ['m1'];
  opened = [];
  const http: Pick<HttpClient, 'stream'> = {
    stream: ({ url, signal }) => {
      opened.push(new URL(url).hostname);
      return Promise.resolve({ status: 200, headers: {}, chunks: blind(signal) });
    },
  };
  follower = new ReportFollower({
    ...{ http: http as HttpClient, clock, random: seededRandom(3), log: silentLog },
    sources: () => names.map((name) => ({ name, url: `http://${name}` })),
    handlers: {},
    options: { mode: 'any-one' },
  });
  follower.refresh();
});

afterEach(() => follower.close());

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1_000);
    await settle();
  }
}

describe('a monitor that hears few hosts', () => {
  it('is kept where there is no other', async () => {
    await pass(120);
    expect(opened).toEqual(['m1']);
    expect(follower.view.complete).toBe(true);
  });

  it('is left for another one, which is kept for a while though it hears no more', async () => {
    names = ['m1', 'm2'];
    await pass(25);
    expect(new Set(opened).size).toBe(2);
    expect(opened).toHaveLength(2);
  });
});
