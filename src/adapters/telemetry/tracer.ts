import type { Attributes, Context, SpanContext, Span as OtelSpan } from '@opentelemetry/api';
import { isSpanContextValid, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { SpanName } from '../../core/trace/spans.ts';
import { SPANS } from '../../core/trace/spans.ts';
import { contextOf, traceparentOf } from '../../core/trace/trace.ts';
import type { Log, Span, Tracer } from '../../ports/telemetry.ts';

export interface TracingOptions {
  /** As its log names it. */
  readonly role: 'monitor' | 'scheduler' | 'arbiter' | 'host-agent';
  readonly id: string;
  readonly cell: string;
  readonly log: Log;
}

export interface Tracing {
  /** Without a tracer where nothing is to be recorded. */
  readonly ports: { readonly tracer?: Tracer };
  /** Sends what is left; within two seconds. */
  close(): Promise<void>;
}

/** A collector that does not answer holds up the end of a process for so long. */
const CLOSE_MS = 2_000;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/**
 * Spans of OpenTelemetry, sent over OTLP/HTTP. Where to, with which headers and certificates: the exporter's own variables
 * (`OTEL_EXPORTER_OTLP_*`); which traces are begun: `OTEL_TRACES_SAMPLER`; how many spans wait and how long: `OTEL_BSP_*`, and
 * what finds no place in the queue is dropped. The context is an argument, not a global.
 */
export function openTracer(options: TracingOptions, env: NodeJS.ProcessEnv): Tracing {
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': `moorage-${options.role}`,
          'service.instance.id': options.id,
          'service.namespace': options.cell,
        }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(env),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reporting(new OTLPTraceExporter(), options.log),
        ...numberIn(env, 'OTEL_BSP_SCHEDULE_DELAY', 'scheduledDelayMillis'),
        ...numberIn(env, 'OTEL_BSP_EXPORT_TIMEOUT', 'exportTimeoutMillis'),
        ...numberIn(env, 'OTEL_BSP_MAX_QUEUE_SIZE', 'maxQueueSize'),
        ...numberIn(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'maxExportBatchSize'),
      }),
    ],
  });
  const tracer = provider.getTracer('moorage');
  const make = <N extends SpanName>(name: N, parent: Context, startMs?: number): Span<N> => {
    const settings = {
      kind: KINDS[SPANS[name].kind],
      ...(startMs === undefined ? {} : { startTime: startMs }),
    };
    return spanOf(tracer.startSpan(name, settings, parent));
  };
  return {
    ports: {
      tracer: {
        enter: (name, traceparent) => {
          const parent = parentOf(traceparent);
          return make(name, parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent));
        },
        begin: (name, traceparent, startMs) => {
          const parent = parentOf(traceparent);
          if (parent === null || (parent.traceFlags & 1) === 0) return null;
          return make(name, trace.setSpanContext(ROOT_CONTEXT, parent), startMs);
        },
      },
    },
    close: () => closed(provider),
  };
}

function parentOf(traceparent: string | undefined): SpanContext | null {
  const context = traceparent === undefined ? null : contextOf(traceparent);
  if (context === null) return null;
  const { traceId, spanId, isSampled } = context;
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true };
}

function spanOf<N extends SpanName>(span: OtelSpan): Span<N> {
  const own = span.spanContext();
  const { traceId, spanId, traceFlags } = own;
  return {
    traceparent: isSpanContextValid(own)
      ? traceparentOf({ traceId, spanId, isSampled: (traceFlags & 1) === 1 })
      : '',
    end: (facts, failure = null, endMs) => {
      span.setAttributes(attributesOf(facts));
      if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
      span.end(endMs);
    },
  };
}

function attributesOf(facts: Readonly<Record<string, string | number | undefined>>): Attributes {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [`moorage.${name}`, value]));
}

/** The samplers that OpenTelemetry names. An unknown name is its default, as there. */
function samplerOf(env: NodeJS.ProcessEnv): Sampler {
  const [, isChild, name = ''] = /^(parentbased_)?(.*)$/.exec(env['OTEL_TRACES_SAMPLER'] ?? '') ?? [];
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? '1');
  const own =
    name === 'always_off'
      ? new AlwaysOffSampler()
      : name === 'traceidratio'
        ? new TraceIdRatioBasedSampler(ratio >= 0 && ratio <= 1 ? ratio : 1)
        : new AlwaysOnSampler();
  const isPlain = isChild === undefined && ['always_on', 'always_off', 'traceidratio'].includes(name);
  return isPlain ? own : new ParentBasedSampler({ root: own });
}

/** Says when spans begin to be lost, and when they arrive again: not each time. */
function reporting(exporter: SpanExporter, log: Log): SpanExporter {
  let isAway = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error !== undefined && !isAway)
          log.warn({ error: error.message, spans: spans.length }, 'spans cannot be sent, and are lost');
        if (error === undefined && isAway) log.info({}, 'spans are sent again');
        isAway = error !== undefined;
        done(result);
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}

function numberIn<N extends string>(
  env: NodeJS.ProcessEnv,
  variable: string,
  name: N,
): Partial<Record<N, number>> {
  const value = Number(env[variable] ?? '');
  return (value > 0 ? { [name]: value } : {}) as Partial<Record<N, number>>;
}

async function closed(provider: TracerProvider): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => (late = setTimeout(resolve, CLOSE_MS)));
  await Promise.race([provider.shutdown().catch(() => undefined), limit]);
  clearTimeout(late);
}
