import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { openTracing } from '../../../../src/adapters/telemetry/tracing.ts';
import { contextOf } from '../../../../src/core/trace/trace.ts';
import type { LogFields } from '../../../../src/ports/telemetry.ts';
import { OtlpCollector } from '../../../support/otlp-collector.ts';

const OPTIONS = { role: 'scheduler', id: 'batch-1', cell: 'test', log: silentLog } as const;
const CALLER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** The exporter reads where to send from the environment itself. */
async function withEnv<T>(env: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  const before = { ...process.env };
  Object.assign(process.env, env);
  try {
    return await work();
  } finally {
    for (const name of Object.keys(env)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}

describe('traces', () => {
  it('are off unless the environment says where they go, and where it says so', async () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
    const off = [
      ...[{}, { OTEL_SDK_DISABLED: 'true', ...endpoint }, { OTEL_TRACES_EXPORTER: 'none', ...endpoint }],
      ...[{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, { OTEL_SERVICE_NAME: 'x' }],
    ];
    for (const env of off) expect((await openTracing(OPTIONS, env)).ports).toEqual({});
    for (const env of [endpoint, { OTEL_TRACES_EXPORTER: 'otlp' }]) {
      const tracing = await openTracing(OPTIONS, env);
      expect(tracing.ports.tracer).toBeDefined();
      await tracing.close();
    }
  });

  it('join the trace of the caller, and are sent at the latest when the process ends', async () => {
    await using collector = await OtlpCollector.start();
    await withEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }, async () => {
      const tracing = await openTracing(OPTIONS);
      const { ports } = tracing;
      const submit = ports.tracer!.enter('submit', CALLER);
      const run = ports.tracer!.begin('run', submit.traceparent, 1_000_000)!;
      run.end({ job: 'default/a', code: 3, signal: undefined }, 'exit code 3', 1_000_250);
      submit.end({ version: 1 });
      await tracing.close();
    });
    expect([...collector.paths]).toEqual(['/v1/traces']);
    const [run, submit] = collector.spans;
    expect(submit).toMatchObject({
      ...{ service: 'moorage-scheduler', instance: 'batch-1', name: 'submit', failed: false },
      ...{ traceId: CALLER.slice(3, 35), parentId: CALLER.slice(36, 52), facts: { 'moorage.version': 1 } },
    });
    expect(run).toMatchObject({ traceId: submit?.traceId, parentId: submit?.spanId, failed: true });
    expect(run?.facts).toEqual({ 'moorage.job': 'default/a', 'moorage.code': 3 });
    expect([run?.startNs, run?.endNs]).toEqual([1_000_000_000_000n, 1_000_250_000_000n]);
  });

  it('are begun as OTEL_TRACES_SAMPLER says; of what is not recorded nothing follows', async () => {
    const isRecorded = async (sampler: string, caller?: string): Promise<boolean> => {
      const tracing = await openTracing(OPTIONS, {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
        ...(sampler === '' ? {} : { OTEL_TRACES_SAMPLER: sampler }),
        OTEL_TRACES_SAMPLER_ARG: '0',
      });
      const { ports } = tracing;
      const { traceparent } = ports.tracer!.enter('submit', caller);
      const isSampled = contextOf(traceparent)?.isSampled ?? false;
      expect(ports.tracer!.begin('decide', traceparent) !== null).toBe(isSampled);
      await tracing.close();
      return isSampled;
    };
    const unrecorded = `${CALLER.slice(0, -2)}00`;
    expect(await isRecorded('')).toBe(true);
    expect(await isRecorded('', unrecorded)).toBe(false);
    expect(await isRecorded('always_off', CALLER)).toBe(false);
    expect(await isRecorded('traceidratio')).toBe(false);
    expect(await isRecorded('parentbased_traceidratio')).toBe(false);
    expect(await isRecorded('parentbased_always_off', CALLER)).toBe(true);
  });

  it('that cannot be sent are told once, not each time', async () => {
    const server = createServer((_request, response) => response.writeHead(400).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const warned: [LogFields, string][] = [];
    const log = { ...silentLog, warn: (fields: LogFields, text: string) => void warned.push([fields, text]) };
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${String(port)}`,
      ...{ OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1', OTEL_BSP_SCHEDULE_DELAY: '1' },
    };
    await withEnv(env, async () => {
      const tracing = await openTracing({ ...OPTIONS, log });
      const { ports } = tracing;
      for (let n = 0; n < 5; n++) ports.tracer!.enter('submit', undefined).end({});
      await tracing.close();
    });
    server.close();
    expect(warned.map(([, text]) => text)).toEqual(['spans cannot be sent, and are lost']);
  });
});
