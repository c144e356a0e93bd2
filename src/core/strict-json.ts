export interface JsonLimits {
  /** Levels of lists and objects within each other. */
  readonly depthMax: number;
  /** Keys of one object. */
  readonly keysMax: number;
}

/** For what comes from outside: deeper or wider values are nobody's honest request. */
export const REQUEST_JSON_LIMITS: JsonLimits = { depthMax: 16, keysMax: 512 };

/** Text that is no JSON, or JSON that we refuse to read. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/**
 * Reads JSON and refuses what `JSON.parse` lets through: an object that names a key twice (the last would win, so that
 * two readers could see two values), the key `__proto__`, and more depth or width than the limits allow. A byte order
 * mark is refused by `JSON.parse` itself.
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
  checkStructure(text, limits);
  return value;
}

/** What is open at one place of the text: the keys of an object so far, or null for a list. */
type Level = Set<string> | null;

/** Walks over text that is known to be JSON, so a quote opens a string and a colon follows a key without further checks. */
function checkStructure(text: string, limits: JsonLimits): void {
  const open: Level[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      const end = endOfString(text, at);
      const keys = open[open.length - 1];
      if (keys instanceof Set && isKey(text, end))
        addKey(keys, JSON.parse(text.slice(at, end)) as string, limits);
      at = end - 1;
    } else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      if (open.length === limits.depthMax)
        throw new JsonError(`nested deeper than ${String(limits.depthMax)} levels`);
      open.push(char === OPEN_OBJECT ? new Set() : null);
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
      open.pop();
    }
  }
}

function addKey(keys: Set<string>, key: string, limits: JsonLimits): void {
  if (key === '__proto__') throw new JsonError('the key "__proto__" is not allowed');
  if (keys.has(key)) throw new JsonError(`the key ${JSON.stringify(key.slice(0, 64))} is there twice`);
  if (keys.size === limits.keysMax)
    throw new JsonError(`an object with more than ${String(limits.keysMax)} keys`);
  keys.add(key);
}

/** @returns the place after the closing quote */
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
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
