import type { Document, Pair, Scalar } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, parseDocument, stringify, visit, YAMLMap, YAMLSeq } from 'yaml';
import type { Job } from '../../core/cell/job.ts';
import { longFormSchema, propertiesOf, shortFormSchema, stepInto } from './json-schema.ts';
import type { SchemaNode } from './json-schema.ts';
import { jobToFile } from './print.ts';
import type { Path } from './yaml-source.ts';
import { readSource } from './yaml-source.ts';

export type FileForm = 'yaml' | 'json';

/** A longer list or map in braces is broken into lines. */
const LINE_WIDTH = 110;

const YAML_FORM = { lineWidth: LINE_WIDTH, singleQuote: true, blockQuote: 'literal' } as const;

/**
 * The one form of a job file: keys in the order of the schema, amounts and times as `moorage status -o yaml` writes them,
 * two spaces a level. What is not written stays unwritten, and in YAML comments, empty lines and braces stay where they are.
 * The same text comes back unchanged.
 *
 * @param text a valid job file
 * @param job what it means
 */
export function formatJobText(text: string, job: Job, form: FileForm): string {
  const isJson = formOf(text) === 'json';
  const document = parseDocument(isJson ? text.replaceAll('\t', ' ') : text, {
    version: '1.2',
    schema: 'core',
  });
  const isShort = !(isMap(document.contents) && document.contents.has('groups'));
  const printed = jobToFile(job);
  // The short form leaves out what stands around its one group and task.
  const roots: unknown[] = isShort
    ? [
        printed,
        valueAt(printed, ['groups', job.name]),
        valueAt(printed, ['groups', job.name, 'tasks', job.name]),
      ]
    : [printed];
  let hasAlias = false;
  visit(document, { Alias: () => void (hasAlias = true) });
  // What stands for a part must stay behind it.
  if (!hasAlias) sortKeys(document.contents, isShort ? shortFormSchema() : longFormSchema());
  spell(document.contents, [], roots);
  if (form === 'yaml' && !isJson) return writtenOut(document);
  const value = valueOf(document.toString());
  return form === 'json' ? `${JSON.stringify(value, null, 2)}\n` : stringify(value, YAML_FORM);
}

/** Braces have a space inside, brackets have none. */
function writtenOut(document: Document): string {
  visit(document, {
    Collection: (_, node) => {
      if (node.flow !== true) return;
      const flowCollectionPadding = isSeq(node) ? '' : ' ';
      const plain = (isSeq(node) ? YAMLSeq : YAMLMap).prototype.toString.bind(node);
      node.toString = (context, ...rest) =>
        plain(context === undefined ? context : { ...context, flowCollectionPadding }, ...rest);
    },
  });
  return document.toString(YAML_FORM);
}

/** Of a job file's text. */
export function formOf(text: string): FileForm {
  return /^\s*[{[]/.test(text) ? 'json' : 'yaml';
}

/** With environment and labels as they are spelt. */
function valueOf(text: string): unknown {
  return readSource(text).value;
}

/** The type of a file comes before its command, and so does how that is run. */
const WHAT_IT_IS: ReadonlySet<string> = new Set(
  'name namespace type priority scheduler labels oneOff driver image'.split(' '),
);

/** What becomes of allocations stands behind what they do. */
const POLICIES: ReadonlySet<string> = new Set(
  'restart reschedule deadline disconnect shutdownDelay update volumes waitMax'.split(' '),
);

/** Fixed fields come in the schema's order; entries of a map by name stay as they are. */
function sortKeys(node: unknown, schema: SchemaNode | null): void {
  if (schema === null) return;
  if (isSeq(node)) {
    for (const item of node.items) sortKeys(item, stepInto(schema, 0));
    return;
  }
  if (!isMap(node)) return;
  const order = Object.keys(propertiesOf(schema));
  const placeOf = (pair: Pair): number => {
    const key = keyOf(pair);
    const place = order.indexOf(key);
    if (place === -1) return 2 * order.length;
    return place + (POLICIES.has(key) ? order.length : WHAT_IT_IS.has(key) ? -order.length : 0);
  };
  const map = node;
  const [first] = map.items;
  map.items.sort((a, b) => placeOf(a) - placeOf(b));
  keepHead(map, first);
  for (const pair of map.items) sortKeys(pair.value, stepInto(schema, keyOf(pair)));
}

/** What stands above the first key is about the whole, and begins no empty line. */
function keepHead({ items }: YAMLMap, before: Pair | undefined): void {
  const [first] = items;
  const [old, now] = [before?.key, first?.key] as [Scalar | undefined, Scalar | undefined];
  if (old === undefined || now === undefined || old === now) return;
  const head = old.commentBefore;
  delete old.commentBefore;
  if (head != null) now.commentBefore = now.commentBefore == null ? head : `${head}\n${now.commentBefore}`;
  delete now.spaceBefore;
}

/** Writes each amount, time and constraint as the printed job has it. */
function spell(node: unknown, path: Path, roots: readonly unknown[]): void {
  if (isAlias(node)) return;
  if (isMap(node)) for (const pair of node.items) spell(pair.value, [...path, keyOf(pair)], roots);
  else if (isSeq(node)) node.items.forEach((item, index) => spell(item, [...path, index], roots));
  else if (isScalar(node)) respell(node, path, roots);
}

function respell(node: Scalar, path: Path, roots: readonly unknown[]): void {
  // One kind of quotes, where it says the same.
  if (node.type === 'QUOTE_DOUBLE' && /^[ -&(-[\]-~]*$/.test(String(node.value))) node.type = 'QUOTE_SINGLE';
  for (const root of roots) {
    const value = valueAt(root, path);
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    if (value !== node.value && value !== node.source) {
      node.value = value;
      delete node.source;
      delete node.type;
    }
    return;
  }
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return value;
}

function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.source ?? key.value) : '';
}
