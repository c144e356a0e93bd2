import type { Tracing, TracingOptions } from './tracer.ts';

/** Variables of OpenTelemetry that say where traces go. Its own default, a collector on this machine, is none here: off. */
const WHERE = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];

/** Records traces if the environment says where to send them. What that takes is loaded only then. */
export async function openTracing(
  options: TracingOptions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Tracing> {
  if (!isOn(env)) return { ports: {}, close: () => Promise.resolve() };
  const { openTracer } = await import('./tracer.ts');
  return openTracer(options, env);
}

function isOn(env: NodeJS.ProcessEnv): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const exporter = env['OTEL_TRACES_EXPORTER'] ?? '';
  if (exporter !== '') return exporter === 'otlp';
  return WHERE.some((name) => (env[name] ?? '') !== '');
}
