import { request } from 'node:http';
import { connect } from 'node:net';
import type { ProbeAnswer, Probes, ProbeTarget } from '../../ports/probes.ts';

const STATUS_PASSED_MAX = 399;
/** Of headers; a service that sends more has failed its check. */
const HEADER_BYTES_MAX = 16 * 1024;

export const systemProbes: Probes = {
  http: ({ address, port }, path, timeoutMs) =>
    answered(timeoutMs, (done, signal) => {
      const headers = { 'user-agent': 'moorage-check', connection: 'close' };
      const asked = request(
        { host: address, port, path, headers, agent: false, signal, maxHeaderSize: HEADER_BYTES_MAX },
        (response) => {
          const status = response.statusCode ?? 0;
          // Nobody reads what follows.
          response.destroy();
          done({ passed: status >= 200 && status <= STATUS_PASSED_MAX, detail: `HTTP ${String(status)}` });
        },
      );
      asked.on('error', (error) => done(failureOf(error)));
      asked.end();
    }),
  tcp: (target, timeoutMs) =>
    answered(timeoutMs, (done, signal) => {
      const socket = connect({ host: target.address, port: target.port, signal });
      socket.on('connect', () => {
        socket.destroy();
        done({ passed: true, detail: connectedTo(target) });
      });
      socket.on('error', (error) => done(failureOf(error)));
    }),
};

/** The first answer; none within the time is one too. */
async function answered(
  timeoutMs: number,
  ask: (done: (answer: ProbeAnswer) => void, signal: AbortSignal) => void,
): Promise<ProbeAnswer> {
  const stop = new AbortController();
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      done({ passed: false, detail: `no answer within ${String(timeoutMs)} ms` });
      stop.abort();
    }, timeoutMs);
    const done = (answer: ProbeAnswer): void => {
      clearTimeout(timer);
      resolve(answer);
    };
    ask(done, stop.signal);
  });
}

function connectedTo({ address, port }: ProbeTarget): string {
  return `connected to ${address}:${String(port)}`;
}

function failureOf(error: Error & { readonly code?: string }): ProbeAnswer {
  const code = error.code ?? '';
  const known: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'connection reset',
    HPE_HEADER_OVERFLOW: 'more headers than are read',
  };
  return { passed: false, detail: known[code] ?? (code === '' ? 'no answer' : `no answer: ${code}`) };
}
