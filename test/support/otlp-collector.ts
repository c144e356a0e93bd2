import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { createServer } from 'node:http';

export interface CollectedSpan {
  /** `service.name` of the process that recorded it. */
  readonly service: string;
  readonly instance: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it begins the trace. */
  readonly parentId: string;
  readonly facts: Readonly<Record<string, string | number>>;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly failed: boolean;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly attributes: readonly Attribute[];
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly status: { readonly code?: number };
      }[];
    }[];
  }[];
}

/** Takes what is exported over OTLP/HTTP as JSON, as any collector does. */
export class OtlpCollector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  readonly paths = new Set<string>();
  requests = 0;
  readonly #server: Server;
  #arrived: () => void = () => undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static start(): Promise<OtlpCollector> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        collector.#take(request.url ?? '', Buffer.concat(parts).toString());
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
    const collector = new OtlpCollector(server);
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(collector)));
  }

  get endpoint(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Resolves when what has arrived is enough. */
  async until(isEnough: (spans: readonly CollectedSpan[]) => boolean): Promise<void> {
    while (!isEnough(this.spans)) await new Promise<void>((resolve) => (this.#arrived = resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(path: string, body: string): void {
    this.requests += 1;
    this.paths.add(path);
    for (const { resource, scopeSpans } of (JSON.parse(body) as Export).resourceSpans) {
      const of = factsOf(resource.attributes);
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.spans.push({
          service: String(of['service.name']),
          instance: String(of['service.instance.id']),
          ...{ name: span.name, traceId: span.traceId, spanId: span.spanId },
          parentId: span.parentSpanId ?? '',
          facts: factsOf(span.attributes),
          startNs: BigInt(span.startTimeUnixNano),
          endNs: BigInt(span.endTimeUnixNano),
          failed: span.status.code === 2,
        });
    }
    this.#arrived();
  }
}

function factsOf(attributes: readonly Attribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']),
  );
}
