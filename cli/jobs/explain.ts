import {
  propertiesOf,
  longFormSchema,
  shortFormSchema,
  stepInto,
} from '../../src/wire/job-file/json-schema.ts';
import type { SchemaNode } from '../../src/wire/job-file/json-schema.ts';
import { jobJsonSchema } from '../../src/wire/job-file/json-schema.ts';
import { didYouMean } from '../../src/wire/values/suggest.ts';
import type { Context } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
import { printAnswer, valueText } from '../output/output.ts';
import { formatTable } from '../output/table.ts';

/**
 * What a field of the job file means: `group.reschedule.delay`, `groups.web.count`, `job`. `group` and `task` stand for
 * any of their kind.
 */
export async function explain(context: Context, written: string): Promise<number> {
  const { terminal, output } = context;
  if (written === 'job' && output !== 'table') {
    terminal.out(await valueText(output === 'yaml' ? 'yaml' : 'json', jobJsonSchema()));
    return 0;
  }
  const found = find(written);
  await printAnswer(context, found, { text: () => render(written, found) });
  return 0;
}

function find(written: string): SchemaNode {
  const steps = written.split('.').filter((step) => step !== '' && step !== 'job');
  const full = steps.flatMap((step, index) => {
    if (index === 0 && step === 'group') return ['groups', 'any'];
    if (index === 0 && step === 'task') return ['groups', 'any', 'tasks', 'any'];
    return step === 'task' ? ['tasks', 'any'] : [step];
  });
  // A bare field, as it stands in the short form, is looked up there.
  const short = full[0] !== undefined && propertiesOf(shortFormSchema())[full[0]] !== undefined;
  let node = short ? shortFormSchema() : longFormSchema();
  for (const step of full) {
    const next = stepInto(node, step);
    if (next === null) {
      const known = Object.keys(propertiesOf(node));
      const near = didYouMean(step, known);
      throw usageError(`there is no field "${step}" in "${written}"${near}`, 'moorage explain job');
    }
    node = next;
  }
  return node;
}

function render(written: string, node: SchemaNode): string {
  const lines = [`${written}: ${typeOf(node)}`];
  if (node.description !== undefined) lines.push(`  ${node.description}`);
  for (const example of node.examples ?? []) lines.push(`  example: ${JSON.stringify(example)}`);
  const fields = Object.entries(fieldsOf(node));
  if (fields.length === 0) return `${lines.join('\n')}\n`;
  const required = new Set(entryOf(node).required ?? []);
  const table = formatTable(
    [
      {
        title: 'FIELD',
        cell: ([name]: [string, SchemaNode]) => name + (required.has(name) ? ' (required)' : ''),
      },
      { title: 'TYPE', cell: ([, field]: [string, SchemaNode]) => typeOf(field) },
      { title: 'MEANING', cell: ([, field]: [string, SchemaNode]) => field.description ?? '' },
    ],
    fields,
  );
  return `${lines.join('\n')}\n\n${table}`;
}

/** Of a map by name, one entry; of anything else, itself. */
function entryOf(node: SchemaNode): SchemaNode {
  const entry = node.additionalProperties;
  return node.properties === undefined && typeof entry === 'object' ? entry : (node.items ?? node);
}

function fieldsOf(node: SchemaNode): Readonly<Record<string, SchemaNode>> {
  return propertiesOf(entryOf(node));
}

function typeOf(node: SchemaNode): string {
  if (node.const !== undefined) return JSON.stringify(node.const);
  if (node.enum !== undefined) return node.enum.join(' | ');
  if (typeof node.type === 'object') return node.type.map((type) => typeOf({ type })).join(' | ');
  if (node.anyOf !== undefined) return [...new Set(node.anyOf.map(typeOf))].join(' | ');
  if (node.type === 'array') return `list of ${node.items === undefined ? 'anything' : typeOf(node.items)}`;
  if (node.type === 'object') return node.properties === undefined ? 'map by name' : 'map';
  if (node.type === 'integer') return boundsOf(node);
  return node.type === 'string'
    ? 'text'
    : node.type === 'boolean'
      ? 'true | false'
      : (node.type ?? 'anything');
}

function boundsOf(node: SchemaNode): string {
  if (node.minimum === undefined || node.maximum === undefined) return 'whole number';
  return `${String(node.minimum)} to ${String(node.maximum)}`;
}
