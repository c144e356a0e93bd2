import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { ndjsonLine } from '../../src/core/json/ndjson.ts';
import type { ReportFrame } from '../../src/wire/api/report-frames.ts';
import type { LargeCell } from '../testbed/large-cell.ts';
import { largeHost } from '../testbed/large-cell.ts';

const BATCH_CHARS = 256 * 1024;
const BEAT_MS = 1_000;

export interface RelayServer {
  readonly address: string;
  /** Resolves when one reader has been sent everything. */
  readonly sent: Promise<void>;
  close(): void;
}

/** Serves a monitor's report stream: a full report of every host, as `ReportRelay` sends it, then beats. */
export async function serveRelay(cell: LargeCell): Promise<RelayServer> {
  let finish: () => void = () => undefined;
  const sent = new Promise<void>((resolve) => (finish = resolve));
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    // None of these jobs is the scheduler's.
    if (request.url?.includes('jobs=') === true) response.end(ndjsonLine(viewFrame(true)));
    else void sendReports(response, cell).then(finish);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    sent,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function sendReports(response: ServerResponse, cell: LargeCell): Promise<void> {
  let text = ndjsonLine(viewFrame(false));
  for (const frame of framesOf(cell)) {
    text += ndjsonLine(frame);
    if (text.length < BATCH_CHARS) continue;
    if (!response.write(text)) await once(response, 'drain');
    text = '';
  }
  response.write(text + ndjsonLine(viewFrame(true)));
  const beat = setInterval(() => response.write(ndjsonLine(viewFrame(true))), BEAT_MS);
  response.once('close', () => clearInterval(beat));
}

function* framesOf({ hosts, allocations, seed }: LargeCell): Generator<ReportFrame> {
  const random = seededRandom(seed);
  const each = Math.ceil(allocations / hosts);
  for (let n = 0; n < hosts; n++) {
    const { id: host, incarnation } = largeHost(n, random);
    const head = { host, incarnation, seq: each };
    const reports = Array.from({ length: each }, (_, index) => reportOf(host, n, index, random.below(2_000)));
    yield { ...head, kind: 'full', allocations: reports };
    yield { ...head, kind: 'beat' };
  }
}

function reportOf(host: string, n: number, index: number, job: number): AllocationReport {
  const startedAtMs = 1_700_000_000_000 + n;
  return {
    id: `01hf7yat00${String(n).padStart(8, '0')}${String(index).padStart(8, '0')}`,
    ...{ host, precedence: 50, gpus: [], ports: { http: 20_000 + index } },
    resources: { cpuMilli: 100, memoryMib: 256, diskMib: 0, scalars: NO_SCALARS },
    ...{
      namespace: 'default',
      job: `job-${String(job)}`,
      jobVersion: 1,
      group: 'main',
      index: n,
      attempt: 1,
    },
    ...{
      scheduler: 'batch-1',
      state: 'running',
      released: false,
      reason: 'running',
      restarts: 0,
      startedAtMs,
    },
    tasks: { main: { state: 'running', pid: 1_000 + n, restarts: 0 } },
  };
}

function viewFrame(synced: boolean): ReportFrame {
  return { kind: 'view', complete: true, synced };
}
