import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { RouteReply } from '../../ports/http.ts';

/**
 * Writes a stream chunk by chunk: head and chunks at once, and the next chunk is read when the socket took the last. Chunks of
 * one turn of the event loop go to the socket together. A source that fails cuts the connection, so that the reader cannot take
 * it for the end.
 */
export async function sendStream(
  response: ServerResponse,
  reply: RouteReply,
  chunks: AsyncIterable<Uint8Array | string>,
  caller: AbortController,
): Promise<void> {
  response.writeHead(reply.status, {
    'content-type': reply.contentType ?? 'application/octet-stream',
    'cache-control': 'no-store',
    ...reply.headers,
  });
  response.flushHeaders();
  const together = corked(response);
  try {
    for await (const chunk of chunks) {
      if (caller.signal.aborted) break;
      if (chunk.length === 0) continue;
      together();
      if (!response.write(chunk)) await drained(response, caller.signal);
    }
    response.end();
  } catch (error) {
    if (!caller.signal.aborted) throw error;
  } finally {
    if (!response.writableEnded) response.destroy();
  }
}

/** @returns holds back what is written from now to the end of the turn of the event loop: a call of the kernel costs most of it */
function corked(response: ServerResponse): () => void {
  let isCorked = false;
  return () => {
    if (isCorked) return;
    isCorked = true;
    response.cork();
    setImmediate(() => {
      isCorked = false;
      // What has ended is not corked any more.
      if (!response.writableEnded && !response.destroyed) response.uncork();
    });
  };
}

async function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return;
  await once(response, 'drain', { signal: gone }).catch(() => undefined);
}
