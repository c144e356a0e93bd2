import { z } from 'zod';
import { longForm, shortForm } from './job-schema.ts';
import type { Path } from './yaml-source.ts';

/** What editors and `moorage explain` read: JSON Schema 2020-12 of the file as it is written. */
export interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly required?: readonly string[];
}

/** The schema of a whole job file, short form or long. */
export function jobJsonSchema(): Record<string, unknown> {
  const long = nodeOf(longForm);
  const short = nodeOf(shortForm);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Moorage job',
    if: { required: ['groups'] },
    // An editor completes what stands directly under `then` and `else`.
    then: { ...long },
    else: { ...short },
  };
}

export function longFormSchema(): SchemaNode {
  return nodeOf(longForm);
}

export function shortFormSchema(): SchemaNode {
  return nodeOf(shortForm);
}

function nodeOf(schema: z.ZodType): SchemaNode {
  const { $schema: _, ...node } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return node as SchemaNode;
}

/** The keys that have a place in the map at the path; empty when it is no map of fixed keys. */
export function keysAt(schema: z.ZodType, path: Path): string[] {
  let node: SchemaNode | null = nodeOf(schema);
  for (const step of path) node = node === null ? null : stepInto(node, step);
  return node === null ? [] : Object.keys(propertiesOf(node));
}

/** The schema one step below: a field, any entry of a map, any item of a list. */
export function stepInto(node: SchemaNode, step: string | number): SchemaNode | null {
  for (const one of [node, ...(node.anyOf ?? [])]) {
    if (typeof step === 'number' && one.items !== undefined) return one.items;
    const property = one.properties?.[String(step)];
    if (property !== undefined) return property;
    if (typeof one.additionalProperties === 'object') return one.additionalProperties;
  }
  return null;
}

/** The fixed fields of a map. */
export function propertiesOf(node: SchemaNode): Readonly<Record<string, SchemaNode>> {
  const found = [node, ...(node.anyOf ?? [])].find((one) => one.properties !== undefined);
  return found?.properties ?? {};
}
