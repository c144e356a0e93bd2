import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { mayUse } from '../../core/access/access.ts';
import type { Channel, ChannelRoute, ListenOptions } from '../../ports/http.ts';
import { CHANNEL_MESSAGE_BYTES_MAX, CHANNEL_PROTOCOL } from '../../ports/http.ts';
import type { Log } from '../../ports/telemetry.ts';
import type { Problem } from '../../wire/api/problem.ts';
import { ProblemError } from '../../wire/api/problem.ts';
import { mayOpenChannel } from './browsers.ts';
import type { CallerOf } from './callers.ts';
import { cutAtEnd } from './callers.ts';
import { matchRoute } from './route-match.ts';
import { headersOfProblem, PROBLEM_TYPE, problemOfError, problemOfStatus } from './problem-reply.ts';
import { flatHeaders } from './request-values.ts';
import { SocketChannel } from './socket-channel.ts';

/** Channels of one process; each holds a connection and some buffers. */
const CHANNELS_MAX = 1_024;

interface ChannelDeps {
  readonly callerOf: CallerOf;
  readonly isKnownOrigin: ListenOptions['isKnownOrigin'];
  readonly log: Log;
}

/** Takes the server's upgrades to WebSocket on these routes, and refuses every other upgrade. */
export function takeChannels(
  server: Server,
  routes: readonly ChannelRoute[],
  { callerOf, isKnownOrigin, log }: ChannelDeps,
): { close(): void } {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: CHANNEL_MESSAGE_BYTES_MAX,
    // Never the one that is a token.
    handleProtocols: (offered) => offered.has(CHANNEL_PROTOCOL) && CHANNEL_PROTOCOL,
  });
  const open = new Set<Channel>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    // The server's own deadlines are for requests; a channel may be silent for long.
    if ('setTimeout' in socket) (socket as unknown as { setTimeout(ms: number): void }).setTimeout(0);
    const caller = new AbortController();
    socket.once('close', () => caller.abort());
    const found =
      request.headers.upgrade?.toLowerCase() === 'websocket'
        ? matchRoute(routes, request.method ?? 'GET', request.url ?? '/')
        : null;
    const opened = async (): Promise<(channel: Channel) => Promise<void>> => {
      if (!mayOpenChannel(request.headers, isKnownOrigin)) throw new ProblemError(problemOfStatus(403));
      const admitted = await callerOf(request);
      const { peer } = admitted;
      if (found === null) throw new ProblemError(problemOfStatus(routes.length === 0 ? 400 : 404));
      if (!mayUse(peer, found.route.right)) throw new ProblemError(problemOfStatus(403));
      if (open.size >= CHANNELS_MAX) throw new ProblemError(problemOfStatus(503));
      socket.once(
        'close',
        cutAtEnd(admitted, () => socket.destroy()),
      );
      const { params, query } = found.values;
      const headers = flatHeaders(request.headers);
      return await found.route.open({ params, query, headers, body: undefined, peer, signal: caller.signal });
    };
    const path = found?.route.path ?? '?';
    opened().then(
      (serve) =>
        sockets.handleUpgrade(request, socket, head, (ws) => {
          const channel = new SocketChannel(ws);
          open.add(channel);
          serve(channel)
            .catch((error: unknown) => log.debug({ route: path, error }, 'a channel broke off'))
            .finally(() => {
              channel.close();
              open.delete(channel);
            });
        }),
      (error: unknown) => refuse(socket, problemOfError(error, log, path, request.headers)),
    );
  });
  return {
    close: () => {
      for (const channel of open) channel.close();
      sockets.close();
    },
  };
}

function refuse(socket: Duplex, problem: Problem): void {
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${String(problem.status)} ${STATUS_CODES[problem.status] ?? 'Refused'}`,
    'connection: close',
    `content-type: ${PROBLEM_TYPE}`,
    ...Object.entries(headersOfProblem(problem)).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${String(Buffer.byteLength(body))}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
