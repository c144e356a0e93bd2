import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { ChannelAnswer, ChannelCall, ChannelClient, HttpAnswer } from '../../ports/http.ts';
import { CHANNEL_MESSAGE_BYTES_MAX, HttpError } from '../../ports/http.ts';
import type { Showing } from '../pki/bearer.ts';
import { headersOf } from '../pki/bearer.ts';
import { clientTls } from '../pki/tls.ts';
import { httpErrorOf, isPlain, plainError } from './call-faults.ts';
import { onAbort } from '../../ports/on-abort.ts';
import { flatHeaders } from './request-values.ts';
import { SocketChannel } from './socket-channel.ts';

/** Opens channels over WebSocket. @param showing with it to peers of the cell only */
export function webSocketClient(showing?: Showing): ChannelClient {
  return { open: (call) => open(call, showing) };
}

function open(call: ChannelCall, showing: Showing | undefined): Promise<ChannelAnswer> {
  const { url, headers, timeoutMs, signal } = call;
  if (showing !== undefined && isPlain(url)) return Promise.reject(plainError(url));
  if (signal?.aborted === true) return Promise.reject(new HttpError('the caller gave up', { sent: false }));
  const socket = new WebSocket(url.replace(/^http/, 'ws'), {
    handshakeTimeout: timeoutMs,
    maxPayload: CHANNEL_MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
    headers: { ...headers, ...headersOf(showing) },
    ...(showing === undefined ? {} : clientTls(showing, call.to)),
  });
  // Made at once: the first message may come in the same read as the answer.
  const channel = new SocketChannel(socket);
  const forget = signal === undefined ? null : onAbort(signal, () => socket.terminate());
  socket.once('close', () => forget?.());
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve({ kind: 'open', channel }));
    const closed = (): void => reject(new HttpError(`${url}: closed`, { sent: true }));
    socket.once('unexpected-response', (_request, response: IncomingMessage) => {
      // The connection may be over before its answer is read to the end.
      socket.off('close', closed);
      answerOf(response)
        .then((answer) => resolve({ kind: 'refused', answer }), reject)
        .finally(() => socket.terminate());
    });
    socket.once('error', (error) => reject(httpErrorOf(error, url, false)));
    socket.once('close', closed);
  });
}

/** An error answer fits into a few KiB. */
const ANSWER_BYTES_MAX = 64 * 1024;

async function answerOf(response: IncomingMessage): Promise<HttpAnswer> {
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > ANSWER_BYTES_MAX) break;
  }
  const head = { status: response.statusCode ?? 500, headers: flatHeaders(response.headers) };
  try {
    return { ...head, body: JSON.parse(text) as unknown };
  } catch {
    return { ...head, body: undefined };
  }
}
