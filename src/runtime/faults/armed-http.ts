import type {
  HttpClient,
  HttpListener,
  HttpServer,
  ListenOptions,
  Route,
  RouteReply,
} from '../../ports/http.ts';
import { HttpError } from '../../ports/http.ts';
import type { FailPoints, FaultOf } from './faults.ts';
import { around, aroundEach } from './faults.ts';
import { subjectOfCall, subjectOfRoute } from './subjects.ts';

const noAnswer: FaultOf = (when, name) =>
  new HttpError(`fail-point ${name}:${when}`, { sent: when === 'after' });
const cut: FaultOf = (when, name) => new HttpError(`fail-point ${name}:${when}`, { sent: true });

export function armedClient(port: string, points: FailPoints, http: HttpClient): HttpClient {
  return {
    call: (call) =>
      around(points, `${port}.call/${subjectOfCall(call.method, call.url)}`, noAnswer, () => http.call(call)),
    stream: async (call) => {
      const subject = subjectOfCall(call.method, call.url);
      const stream = await around(points, `${port}.stream/${subject}`, noAnswer, () => http.stream(call));
      const chunks = aroundEach(points, `${port}.chunk/${subject}`, cut, stream.chunks);
      return { ...stream, chunks };
    },
    close: () => around(points, `${port}.close/all`, cut, () => http.close()),
  };
}

/** A route that throws answers 500: the caller cannot know what was done. */
const failed: FaultOf = (when, name) => new Error(`fail-point ${name}:${when}`);

export function armedServer(port: string, points: FailPoints, server: HttpServer): HttpServer {
  return {
    listen: async (routes: readonly Route[], options: ListenOptions): Promise<HttpListener> => {
      const inner = await around(points, `${port}.listen/all`, failed, () =>
        server.listen(
          routes.map((route) => armedRoute(port, points, route)),
          options,
        ),
      );
      return {
        address: inner.address,
        close: (graceMs) => around(points, `${port}.close/all`, failed, () => inner.close(graceMs)),
      };
    },
  };
}

function armedRoute(port: string, points: FailPoints, route: Route): Route {
  const subject = subjectOfRoute(route.method, route.path);
  return {
    ...route,
    handle: async (request): Promise<RouteReply> => {
      const reply = await around(points, `${port}.route/${subject}`, failed, () => route.handle(request));
      if (reply.stream === undefined) return reply;
      return { ...reply, stream: aroundEach(points, `${port}.chunk/${subject}`, failed, reply.stream) };
    },
  };
}
