import { HttpError } from '../../ports/http.ts';
import { PortError } from '../../ports/ports.ts';

/** Written in the place of a secret. */
const HIDDEN = '***';

/** Fields that hold secrets, in whatever object. Of `env` the values are hidden and the names stay. */
const SECRET_NAMES = new Set([
  'ticket',
  'token',
  'password',
  'secret',
  'authorization',
  'secretkey',
  'privatekey',
]);

/** Deeper values are cut: a log line is no dump. */
const DEPTH_MAX = 8;

/** A signed token anywhere in a text, such as the message of an error, and a ticket with the token of its root. */
const TOKEN = /\b(?:moorage-ticket-\d+\.[\w.-]*|v4\.(?:public|local)\.[\w-]+(?:\.[\w-]+)?)/g;

/**
 * A copy of a log field without secrets: environment values, tickets and tokens (I65). Errors become plain objects. (pino's
 * own `redact` takes paths; here a name is hidden at any depth, and a token inside any text.)
 *
 * @param faultStacks faults of the world (a peer that is away, a full disk) are written with their stacks and causes; without
 *   it as their message: the stack is of no use to whoever has to mend the peer
 * @param depth how deep the value lies in the logged object
 */
export function redact(value: unknown, faultStacks = false, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(TOKEN, HIDDEN);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return '…';
  if (value instanceof Error)
    return isFault(value) && !faultStacks
      ? redact(lineOf(value), faultStacks, depth)
      : redactError(value, faultStacks, depth);
  if (Array.isArray(value)) return value.map((item) => redact(item, faultStacks, depth + 1));
  return redactFields(value as Record<string, unknown>, faultStacks, depth);
}

function redactFields(
  fields: Readonly<Record<string, unknown>>,
  faultStacks: boolean,
  depth: number,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (SECRET_NAMES.has(name.toLowerCase()))
      result[name] = value === null || value === undefined ? value : HIDDEN;
    else if (name === 'env') result[name] = hideValues(value);
    else result[name] = redact(value, faultStacks, depth + 1);
  }
  return result;
}

function hideValues(env: unknown): unknown {
  if (typeof env !== 'object' || env === null) return HIDDEN;
  return Object.fromEntries(Object.keys(env).map((name) => [name, HIDDEN]));
}

function redactError(error: Error, faultStacks: boolean, depth: number): Record<string, unknown> {
  const { name, message, stack, cause, ...rest } = error;
  return {
    type: error.name || name,
    message: redact(message, faultStacks, depth + 1),
    ...redactFields(rest, faultStacks, depth),
    ...(cause === undefined ? {} : { cause: redact(cause, faultStacks, depth + 1) }),
    stack: redact(stack, faultStacks, depth + 1),
  };
}

function isFault(error: Error): boolean {
  return error instanceof PortError || error instanceof HttpError;
}

/** `unavailable: the store does not answer: connect ECONNREFUSED 127.0.0.1:2379`: what a cause only repeats is left out. */
function lineOf(fault: Error): string {
  const said: string[] = [];
  for (let error: unknown = fault; error instanceof Error && said.length < DEPTH_MAX; error = error.cause) {
    const { message } = error;
    if (!said.some((text) => text.includes(message) || message.includes(text))) said.push(message);
  }
  return [...(fault instanceof PortError ? [String(fault.code)] : []), ...said].join(': ');
}
