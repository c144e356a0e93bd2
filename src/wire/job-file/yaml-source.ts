import type { Document, Node, Pair, ParsedNode } from 'yaml';
import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { JOB_DEPTH_MAX, JOB_KEYS_MAX, YAML_ALIASES_MAX } from '../values/bounds.ts';
import { ProblemError } from '../api/problem.ts';

/** Line and column, from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export type Path = readonly (string | number)[];

export interface SourceFault extends Position {
  readonly path: Path;
  readonly text: string;
}

/** A text's value, and where each part of it was written. */
export interface Source {
  readonly value: unknown;
  readonly faults: readonly SourceFault[];
  /** Of the value at the path, or of its key; of the nearest parent when it was not written. */
  positionOf(path: Path, part: 'value' | 'key', column?: number): Position;
}

/** Maps whose values, and lists whose items, are text even if YAML reads a number: `1.10` stays `1.10`. */
const TEXT_PARENTS = new Set(['env', 'labels', 'command']);
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Reads YAML 1.2 (core schema) or JSON, which is a part of it. Duplicate keys, unknown tags, several documents, too much
 * depth or width are faults, each with its place.
 */
export function readSource(text: string): Source {
  const lines = new LineCounter();
  // JSON may be indented by tabs, YAML may not; between its tokens a tab and a space mean the same.
  const json = /^\s*[{[]/.test(text);
  const doc = parseDocument(json ? text.replaceAll('\t', ' ') : text, {
    version: '1.2',
    schema: 'core',
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const faults: SourceFault[] = [...doc.errors, ...doc.warnings].map((error) => ({
    ...at(error.pos[0]),
    path: [],
    text: syntaxText(error.code, error.message, text.slice(error.pos[0])),
  }));
  const reader = new ValueReader(doc, (node, path, why) =>
    faults.push({ ...at(node?.range?.[0] ?? 0), path, text: why }),
  );
  const value = faults.length === 0 ? reader.read(doc.contents, [], false) : undefined;
  return { value, faults, positionOf: (path, part, column = 0) => find(doc, path, part, column, at) };
}

/**
 * The value of a file that an operator writes.
 * @throws ProblemError 400 with the line of the first fault
 */
export function readValue(text: string): unknown {
  const { value, faults } = readSource(text);
  const [fault] = faults;
  if (fault === undefined) return value;
  const detail = `line ${String(fault.line)}: ${fault.text}`;
  throw new ProblemError({ status: 400, code: 'bad-request', detail, path: '' });
}

function syntaxText(code: string, message: string, rest: string): string {
  if (code === 'DUPLICATE_KEY') return `duplicate key "${/^["']?([^"':\s,}]*)/.exec(rest)?.[1] ?? ''}"`;
  if (code === 'MULTIPLE_DOCS') return 'a job file holds one job; this text has several documents';
  if (code === 'TAB_AS_INDENT') return 'indent with spaces, not with tabs';
  const sentence = message.split('\n')[0] ?? message;
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

/** Makes the plain value, with keys in the order of the text. */
class ValueReader {
  readonly #doc: Document.Parsed;
  readonly #fault: (node: Node | null, path: Path, text: string) => void;
  #keys = 0;
  #aliases = 0;

  constructor(doc: Document.Parsed, fault: (node: Node | null, path: Path, text: string) => void) {
    this.#doc = doc;
    this.#fault = fault;
  }

  read(node: Node | null, path: Path, asText: boolean): unknown {
    if (path.length > JOB_DEPTH_MAX)
      return this.#refuse(node, path, `nested deeper than ${String(JOB_DEPTH_MAX)}`);
    if (isAlias(node)) return this.#readAlias(node, path, asText);
    if (isMap(node)) return this.#readMap(node.items, path);
    if (isSeq(node)) {
      const text = TEXT_PARENTS.has(String(path.at(-1)));
      return node.items.map((item, index) => this.read(item as Node, [...path, index], text));
    }
    if (!isScalar(node)) return null;
    const { value, source } = node;
    if (asText && typeof value !== 'string' && value !== null)
      return source ?? `${value as number | boolean}`;
    // The core schema reads integers beyond the exact range as rounded floats.
    if (typeof value === 'number' && !Number.isFinite(value))
      return this.#refuse(node, path, 'no finite number');
    return value;
  }

  #readAlias(node: Parameters<typeof isAlias>[0], path: Path, asText: boolean): unknown {
    if (!isAlias(node)) return null;
    this.#aliases += 1;
    if (this.#aliases > YAML_ALIASES_MAX)
      return this.#refuse(node, path, `more than ${String(YAML_ALIASES_MAX)} aliases`);
    return this.read(node.resolve(this.#doc) ?? null, path, asText);
  }

  #readMap(items: readonly unknown[], path: Path): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    const text = TEXT_PARENTS.has(String(path.at(-1)));
    for (const item of items) {
      if (!isPair(item)) continue;
      const key = this.#readKey(item as Pair<ParsedNode, ParsedNode | null>, path);
      if (key !== null)
        result[key] = this.read((item as Pair<ParsedNode, ParsedNode | null>).value, [...path, key], text);
    }
    return result;
  }

  #readKey(pair: Pair<ParsedNode, ParsedNode | null>, path: Path): string | null {
    const key = keyText(pair.key);
    this.#keys += 1;
    if (this.#keys === JOB_KEYS_MAX + 1)
      this.#fault(pair.key, path, `more than ${String(JOB_KEYS_MAX)} keys`);
    if (this.#keys > JOB_KEYS_MAX) return null;
    if (key === null) this.#fault(pair.key, path, 'a key must be plain text');
    else if (FORBIDDEN_KEYS.has(key)) this.#fault(pair.key, path, `the key "${key}" is not allowed`);
    else return key;
    return null;
  }

  #refuse(node: Node | null, path: Path, text: string): undefined {
    this.#fault(node, path, text);
    return undefined;
  }
}

function keyText(key: unknown): string | null {
  if (!isScalar(key)) return null;
  return typeof key.value === 'string' ? key.value : (key.source ?? null);
}

function find(
  doc: Document.Parsed,
  path: Path,
  part: 'value' | 'key',
  column: number,
  at: (offset: number) => Position,
): Position {
  let node: Node | null = doc.contents;
  let keyNode: Node | null = null;
  let deepest = 0;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(doc) ?? null;
    const next = stepInto(node, step);
    if (next === null) break;
    keyNode = next.key;
    node = next.value;
    deepest += 1;
  }
  const whole = deepest === path.length;
  const chosen = (!whole || part === 'key' ? keyNode : null) ?? node ?? keyNode;
  // Within a plain one-line scalar the fault's own column can be shown; elsewhere it would be off.
  const within = whole && isScalar(node) && node.type === 'PLAIN' ? column : 0;
  const quoted = whole && isScalar(node) && /^QUOTE/.test(node.type ?? '') && column > 0 ? column + 1 : 0;
  return at((chosen?.range?.[0] ?? 0) + within + quoted);
}

function stepInto(node: Node | null, step: string | number): { key: Node | null; value: Node | null } | null {
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return item === undefined ? null : { key: null, value: item as Node };
  }
  if (!isMap(node)) return null;
  for (const pair of node.items) {
    if (keyText(pair.key) === String(step))
      return { key: pair.key as Node, value: pair.value as Node | null };
  }
  return null;
}
