import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { WebSocket } from 'ws';
import type { Bearer } from '../../../src/adapters/pki/bearer.ts';
import { headersOf } from '../../../src/adapters/pki/bearer.ts';
import type { Credentials } from '../../../src/adapters/pki/credentials.ts';
import { clientTls } from '../../../src/adapters/pki/tls.ts';
import { sha256Hex } from '../../../src/adapters/system/digest.ts';
import type { DelegatedAct } from '../../../src/core/access/delegation.ts';
import { askedText, DELEGATION_TTL_MS } from '../../../src/core/access/delegation.ts';
import { DELEGATION_HEADER } from '../../../src/wire/access/access.ts';
import type { StartRequest } from '../../../src/wire/api/host-api.ts';
import { rightBody } from '../bad-tickets.ts';
import { newId } from '../host-orders.ts';
import type { ServedRoute } from '../rights-table.ts';
import type { FuzzCell } from './fuzz-cell.ts';
import type { FuzzRequest } from './requests.ts';

/** What came of an input. `left`: there was no answer in the time that is waited here, as of a stream or a long poll. */
export interface Outcome {
  readonly status: number | 'left' | 'cut';
  readonly code: string;
  readonly retryAfter: boolean;
}

const LEFT: Outcome = { status: 'left', code: '', retryAfter: false };
const CUT: Outcome = { status: 'cut', code: '', retryAfter: false };
const PATIENCE_MS = 3_000;
const RAW_PATIENCE_MS = 400;
const CHANNEL_MS = 30;
const agents = new Map<Credentials | Bearer, Agent>();

function agentOf(showing: Credentials | Bearer): Agent {
  const known = agents.get(showing);
  if (known !== undefined) return known;
  const made = new Agent({ keepAlive: true, maxSockets: 32, ...clientTls(showing, undefined) });
  agents.set(showing, made);
  return made;
}

export function closeAgents(): void {
  for (const one of agents.values()) one.destroy();
  agents.clear();
}

interface Filled {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** Sends it, and never fails: what came of it is for the caller to judge. */
export async function send(cell: FuzzCell, route: ServedRoute, input: FuzzRequest): Promise<Outcome> {
  const fresh = newId();
  const filled = await fill(cell, route, input, fresh);
  const base = cell.addresses[route.server];
  const showing = cell.showingFor(route);
  if (input.way === 'raw') return sendRaw(base, showing, rawText(route, input, filled));
  if (route.method === 'CHANNEL') return openChannel(base, showing, filled, input.frames);
  const outcome = await sendPlain(base, showing, route.method, filled);
  if (route.right === 'start' && outcome.status === 200) cell.noteStarted(fresh);
  return outcome;
}

async function fill(cell: FuzzCell, route: ServedRoute, input: FuzzRequest, fresh: string): Promise<Filled> {
  let at = 0;
  const params: Record<string, string> = {};
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => {
    params[name] = wellFormed(cell.fill(input.words[at++] ?? 'x', fresh));
    return encodeURIComponent(params[name]);
  });
  const query = input.query.map(
    ([name, value]) => [wellFormed(name), wellFormed(cell.fill(value, fresh))] as const,
  );
  const asked = query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  const body = input.body === null ? null : await bodyOf(cell, input.body, fresh);
  const headers: Record<string, string> = {};
  for (const [name, value] of input.headers)
    if (isHeader(name, cell.fill(value, fresh))) headers[name] = cell.fill(value, fresh);
  if (route.right === 'relay' && input.delegates)
    headers[DELEGATION_HEADER] = delegated(cell, route, { params, query: Object.fromEntries(query), body });
  if (body !== null && input.contentType !== null && isHeader('content-type', input.contentType))
    headers['content-type'] = input.contentType;
  return { path: asked === '' ? path : `${path}?${asked}`, headers, body };
}

/** Half of a pair has no form in an address. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

async function bodyOf(cell: FuzzCell, body: Buffer, fresh: string): Promise<Buffer> {
  const text = body.toString('latin1');
  if (!text.includes('@')) return body;
  const filled = cell.fill(text.replaceAll('@ticket', '\u0001'), fresh);
  if (!filled.includes('\u0001')) return Buffer.from(filled, 'latin1');
  const ticket = await ticketFor(cell, filled.replaceAll('\u0001', ''));
  return Buffer.from(filled.replaceAll('\u0001', ticket), 'latin1');
}

/** Of an arbiter, for whatever is ordered, where that can be said. */
async function ticketFor(cell: FuzzCell, order: string): Promise<string> {
  try {
    const body = rightBody(JSON.parse(order) as StartRequest, cell.incarnation);
    const [ticket = ''] = await cell.tickets.sign([{ ...body, aud: body.claim.host }]);
    return ticket;
  } catch {
    return 'none';
  }
}

interface Told {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

function delegated(cell: FuzzCell, { method, path }: ServedRoute, { params, query, body }: Told): string {
  const last = path.split('/').at(-1) ?? '';
  const act = (last === ':command' ? 'command' : last) as DelegatedAct;
  const isRead = method === 'GET' || method === 'CHANNEL';
  const asked = {
    query,
    body: isRead ? undefined : parsed(body),
    ...(act === 'command' ? { command: params['command'] ?? '' } : {}),
  };
  let request: string;
  try {
    request = sha256Hex(askedText(asked));
  } catch {
    // What has no one spelling is no request either.
    request = '';
  }
  return cell.signDelegation({
    ...{ by: 'operator/fuzz', host: cell.agent, allocation: params['id'] ?? '', act },
    request,
    ...{ notBeforeMs: Date.now(), expiresMs: Date.now() + DELEGATION_TTL_MS },
  });
}

function parsed(body: Buffer | null): unknown {
  try {
    return body === null ? undefined : (JSON.parse(body.toString()) as unknown);
  } catch {
    return undefined;
  }
}

function sendPlain(
  base: string,
  showing: Credentials | Bearer,
  method: string,
  { path, headers, body }: Filled,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const length = body === null ? {} : { 'content-length': String(body.length) };
    const options = {
      method,
      agent: agentOf(showing),
      headers: { ...headers, ...length, ...headersOf(showing) },
    };
    const call = request(base + path, options, (answer) => {
      clearTimeout(timer);
      answered(answer).then(resolve, () => resolve(CUT));
      // A stream is left at its first bytes.
      if (answer.headers['content-length'] === undefined && (answer.statusCode ?? 0) < 400) {
        resolve({ status: answer.statusCode ?? 0, code: '', retryAfter: false });
        call.destroy();
      }
    });
    const timer = setTimeout(() => {
      resolve(LEFT);
      call.destroy();
    }, PATIENCE_MS);
    call.once('socket', hushed);
    call.on('error', () => {
      clearTimeout(timer);
      resolve(CUT);
    });
    call.end(body ?? undefined);
  });
}

const HUSHED = new WeakSet<Socket>();

/** What was written may still fail after the answer has been read. */
function hushed(socket: Socket): void {
  if (HUSHED.has(socket)) return;
  HUSHED.add(socket);
  socket.on('error', () => undefined);
}

async function answered(answer: IncomingMessage): Promise<Outcome> {
  let text = '';
  for await (const chunk of answer) if (text.length < 4_096) text += String(chunk);
  return outcomeOf(answer.statusCode ?? 0, text, answer.headers['retry-after'] !== undefined);
}

function outcomeOf(status: number, text: string, retryAfter: boolean): Outcome {
  return {
    status,
    code: status >= 400 ? (/"code":"([\w-]+)"/.exec(text)?.[1] ?? text.slice(0, 40)) : '',
    retryAfter,
  };
}

function openChannel(
  base: string,
  showing: Credentials | Bearer,
  { path, headers }: Filled,
  frames: readonly Buffer[],
): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = {
      headers: { ...headers, ...headersOf(showing) },
      perMessageDeflate: false,
      ...clientTls(showing, undefined),
    };
    let socket: WebSocket;
    try {
      socket = new WebSocket(base.replace(/^http/, 'ws') + path, options);
    } catch {
      resolve(CUT);
      return;
    }
    const timer = setTimeout(() => over(LEFT), PATIENCE_MS);
    const over = (outcome: Outcome): void => {
      clearTimeout(timer);
      resolve(outcome);
      socket.terminate();
    };
    socket.once('upgrade', (answer: IncomingMessage) => hushed(answer.socket));
    socket.once('unexpected-response', (_request, answer: IncomingMessage) => {
      void answered(answer).then(over, () => over(CUT));
    });
    socket.on('error', () => over(CUT));
    socket.once('open', () => {
      for (const frame of frames) socket.send(frame);
      setTimeout(() => over({ status: 101, code: '', retryAfter: false }), CHANNEL_MS);
    });
  });
}

/** The request with something wrong in its very bytes. */
function rawText(route: ServedRoute, { fault }: FuzzRequest, { path, headers, body }: Filled): Buffer {
  const { kind, text, bytes } = fault;
  const method = route.method === 'CHANNEL' ? 'GET' : route.method;
  const odd = Buffer.from(text).toString('latin1');
  const target = kind === 'path' || kind === 'upgrade' ? spoiledPath(path, odd) : path;
  const line = kind === 'line' ? `${method} ${target} ${odd}` : `${method} ${target} HTTP/1.1`;
  const lines = [line, 'host: x', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  if (kind === 'header') lines.push(`${odd}: ${odd}`, `x-min-revision: ${odd}`);
  if (kind === 'upgrade' || route.method === 'CHANNEL')
    lines.push(
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
    );
  const content = body ?? Buffer.alloc(0);
  if (kind === 'length') lines.push(`content-length: ${odd}`, 'content-length: 3');
  else if (kind === 'chunks') lines.push('transfer-encoding: chunked');
  else if (body !== null) lines.push(`content-length: ${String(content.length)}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([
    kind === 'bytes' ? Buffer.from(bytes) : head,
    content.subarray(0, 2_000),
    Buffer.from(bytes),
  ]);
}

/** In the place of one of its parts, or behind it. */
function spoiledPath(path: string, odd: string): string {
  const parts = path.split('/');
  const at = 1 + (odd.length % Math.max(1, parts.length - 1));
  return [...parts.slice(0, at), odd, ...parts.slice(at + 1)].join('/');
}

function sendRaw(base: string, showing: Credentials | Bearer, bytes: Buffer): Promise<Outcome> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(base);
    const socket = connect({ host: hostname, port: Number(port), ...clientTls(showing, undefined) });
    let text = '';
    const timer = setTimeout(() => over(LEFT), RAW_PATIENCE_MS);
    const over = (outcome: Outcome): void => {
      clearTimeout(timer);
      resolve(outcome);
      socket.destroy();
    };
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
      if (status !== 0 && text.includes('\r\n\r\n'))
        over(outcomeOf(status, text, /retry-after:/i.test(text)));
    });
    socket.once('secureConnect', () => socket.write(bytes));
    socket.on('error', () => over(CUT));
    socket.once('close', () => over(CUT));
  });
}
