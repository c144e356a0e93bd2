import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { HttpClient } from '../../../../src/ports/http.ts';
import { ReportFollower } from '../../../../src/runtime/reports/reports.ts';
import { Broadcast } from '../../../../src/runtime/stream/stream.ts';
import type { ReportFrame } from '../../../../src/wire/api/report-frames.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

const HOSTS = Array.from({ length: 20 }, (_, n) => `h${String(n)}`);

let clock: ManualClock;
let follower: ReportFollower;
/** Hosts to which a stream was opened. */
let opened: string[];
/** What the other monitor says, when a test lets it. */
let other: Broadcast<Uint8Array>;

const full = (host: string): ReportFrame => ({ kind: 'full', host, incarnation: 1, seq: 1, allocations: [] });

function says(...frames: readonly ReportFrame[]): void {
  other.send(new TextEncoder().encode(frames.map((frame) => `${JSON.stringify(frame)}\n`).join('')));
}

async function* nothing(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
}

beforeEach(() => {
  clock = new ManualClock();
  opened = [];
  other = new Broadcast(100);
  const http: Pick<HttpClient, 'stream'> = {
    stream: ({ url, signal = new AbortController().signal }) => {
      const { hostname } = new URL(url);
      if (hostname === 'm2')
        return Promise.resolve({ status: 200, headers: {}, chunks: other.subscribe(signal) });
      opened.push(hostname);
      return Promise.resolve({ status: 200, headers: {}, chunks: nothing(signal) });
    },
  };
  follower = new ReportFollower({
    ...{ http: http as HttpClient, clock, random: seededRandom(3), log: silentLog },
    sources: () => HOSTS.map((name) => ({ name, url: `http://${name}` })),
    options: {
      mode: 'all',
      share: { self: 'm1', peers: () => [{ name: 'm2', url: 'http://m2' }] },
    },
  });
  follower.refresh();
});

afterEach(() => follower.close());

describe('a monitor that begins beside another one', () => {
  it('S4.4 knows all that the other one hears before it opens streams to its share of the hosts', async () => {
    await settle();
    says(...HOSTS.slice(0, 12).map(full));
    await settle();
    expect(opened).toEqual([]);
    expect(follower.view.complete).toBe(false);
    says(...HOSTS.slice(12).map(full), { kind: 'view', complete: true, synced: true });
    await settle();
    expect(follower.view.complete).toBe(true);
    expect(opened.length).toBeGreaterThan(HOSTS.length / 4);
    expect(opened.length).toBeLessThan(HOSTS.length);
  });

  it('S4.4 follows every host itself when the other one goes away before it has told all', async () => {
    await settle();
    says(...HOSTS.slice(0, 12).map(full));
    await settle();
    other.close();
    await settle();
    expect(opened.toSorted()).toEqual(HOSTS.toSorted());
  });
});
