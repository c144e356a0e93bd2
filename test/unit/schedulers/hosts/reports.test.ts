import { afterEach, beforeEach, expect, it } from 'vitest';
import { Reports } from '../../../../schedulers/hosts/reports.ts';
import type { SchedulerWorld } from '../../../../schedulers/state/state.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { HttpClient } from '../../../../src/ports/http.ts';
import { sleep } from '../../../../src/runtime/wait/wait.ts';
import type { ReportFrame } from '../../../../src/wire/api/report-frames.ts';
import { roleCodec } from '../../../../src/wire/records/records.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const keys = cellKeys('test');
const MONITOR = keys.role('monitor', 'm1');
let clock: ManualClock;
let store: MemoryCellStore;
let reports: Reports;
let isMonitorGone: AbortController;
/** To whom streams were opened. */
let opened: string[];

/** A beat of the whole view each second, until it is gone. */
async function* monitorFrames(): AsyncGenerator<Uint8Array> {
  while (!isMonitorGone.signal.aborted) {
    const frame: ReportFrame = { kind: 'view', complete: true, synced: true };
    yield new TextEncoder().encode(`${JSON.stringify(frame)}\n`);
    await sleep(clock, 1_000, isMonitorGone.signal);
  }
}

async function write(...writes: Parameters<MemoryCellStore['attempt']>[0]['writes']): Promise<void> {
  expect((await store.attempt({ compares: [], writes, readBack: [] })).outcome).toBe('applied');
}

beforeEach(async () => {
  clock = new ManualClock();
  store = new MemoryCellStore({ clock });
  isMonitorGone = new AbortController();
  opened = [];
  const http: Pick<HttpClient, 'stream'> = {
    stream: async ({ url }) => {
      const { hostname } = new URL(url);
      opened.push(hostname);
      if (hostname !== 'm1') return { status: 503, headers: {}, chunks: nothing() };
      return { status: 200, headers: {}, chunks: monitorFrames() };
    },
  };
  const record = { kind: 'monitor', id: 'm1', address: 'http://m1', version: '1', policy: '' } as const;
  await write({ kind: 'put', key: MONITOR, value: roleCodec.encode({ ...record, startedAtMs: 1 }) });
  const world = { http, store, keys, clock, random: seededRandom(1), log: silentLog };
  reports = new Reports(world as unknown as SchedulerWorld, {
    hosts: () => [{ name: 'h1', url: 'http://h1' }],
    isOwned: () => true,
    isLost: () => false,
    onReport: () => undefined,
  });
  await reports.ready;
  reports.start();
  await clock.advance(2_000);
  expect(opened).toEqual(['m1']);
});

afterEach(async () => {
  isMonitorGone.abort();
  await reports.close();
});

async function* nothing(): AsyncGenerator<Uint8Array> {
  // It ends at once.
}

it('S4.6 a monitor without its session is followed for as long as it sends, and hosts are when it is gone', async () => {
  await write({ kind: 'delete', key: MONITOR });
  await clock.advance(30_000);
  expect(opened).toEqual(['m1']);
  isMonitorGone.abort();
  await clock.advance(3_000);
  expect(opened).toContain('h1');
});
