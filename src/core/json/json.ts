/**
 * Strict parsing of JSON from outside the process. `canonical-json.ts` writes JSON with one spelling for one value; `ndjson.ts`: messages as
 * lines of JSON.
 */
export interface JsonLimits {
  /** Levels of lists and objects within each other. */
  readonly depthMax: number;
  /** Keys of one object. */
  readonly keysMax: number;
}

/** For requests from outside: none of ours is deeper or wider. */
export const REQUEST_JSON_LIMITS: JsonLimits = { depthMax: 16, keysMax: 512 };

/** Text that is not JSON, or JSON that `parseStrictJson` refuses. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/**
 * Parses JSON and refuses what `JSON.parse` accepts: an object with a key twice (two readers could see two values), the
 * key `__proto__`, a number beyond what a number can hold (it would become infinite, which JSON cannot write), and more depth
 * or width than the limits.
 *
 * @throws JsonError
 */
export function parseStrictJson(text: string, limits: JsonLimits = REQUEST_JSON_LIMITS): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new JsonError('the text is not JSON', { cause });
  }
  if (checkStructure(text, limits)) checkFinite(value);
  return value;
}

function checkFinite(value: unknown): void {
  if (value === Infinity || value === -Infinity) throw new JsonError('a number is too large');
  if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) checkFinite(one);
}

/** An open level of the text: the keys of an object so far, or null for a list. */
type Level = string[] | Set<string> | null;

/** Above this many keys a set finds one faster than a list. */
const KEYS_LISTED_MAX = 12;

/** Fewer digits, without an exponent, are a finite number. */
const DIGITS_MAX = 300;

/**
 * The text is known to be JSON: a quote outside a string opens one, and a colon follows a key.
 * @returns whether a number may be too large: it has an exponent, or very many digits
 */
function checkStructure(text: string, limits: JsonLimits): boolean {
  const open: Level[] = [];
  let digits = 0;
  let mayBeInfinite = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char >= ZERO && char <= NINE) {
      digits += 1;
      mayBeInfinite ||= digits > DIGITS_MAX;
      continue;
    }
    // Of the words, none has the letter behind a digit.
    mayBeInfinite ||= digits > 0 && (char === SMALL_E || char === LARGE_E);
    digits = 0;
    if (char === QUOTE) {
      const end = endOfString(text, at);
      const keys = open[open.length - 1];
      if (keys != null && isKey(text, end))
        open[open.length - 1] = withKey(keys, keyAt(text, at, end), limits);
      at = end - 1;
    } else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      if (open.length === limits.depthMax)
        throw new JsonError(`nested deeper than ${String(limits.depthMax)} levels`);
      open.push(char === OPEN_OBJECT ? [] : null);
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
      open.pop();
    }
  }
  return mayBeInfinite;
}

function keyAt(text: string, start: number, end: number): string {
  const key = text.slice(start + 1, end - 1);
  return key.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : key;
}

function withKey(keys: string[] | Set<string>, key: string, limits: JsonLimits): string[] | Set<string> {
  if (key === '__proto__') throw new JsonError('the key "__proto__" is not allowed');
  const isList = Array.isArray(keys);
  if (isList ? keys.includes(key) : keys.has(key))
    throw new JsonError(`the key ${JSON.stringify(key.slice(0, 64))} is there twice`);
  if ((isList ? keys.length : keys.size) === limits.keysMax)
    throw new JsonError(`an object with more than ${String(limits.keysMax)} keys`);
  if (!isList) return keys.add(key);
  keys.push(key);
  return keys.length > KEYS_LISTED_MAX ? new Set(keys) : keys;
}

/** @returns the position after the closing quote */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const char = text.charCodeAt(at);
    if (char === BACKSLASH) at++;
    else if (char === QUOTE) return at + 1;
  }
}

function isKey(text: string, afterString: number): boolean {
  let at = afterString;
  while (text.charCodeAt(at) <= SPACE) at++;
  return text.charCodeAt(at) === COLON;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const COLON = 0x3a;
const [ZERO, NINE] = [0x30, 0x39];
const [SMALL_E, LARGE_E] = [0x65, 0x45];
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
