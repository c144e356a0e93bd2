import type { Expression, ExpressionOperator } from '../../core/cell/job.ts';
import { EXPRESSION_OPERATORS } from '../../core/cell/job.ts';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import { didYouMean } from '../values/suggest.ts';
import { unsafeText } from '../values/safe-string.ts';
import { readCpu, readDisk, readMemory } from '../values/units.ts';
import type { Reading } from '../values/units.ts';

/** `column` counts from 0 within the text: where the fault begins. */
export type ExpressionReading =
  | { readonly ok: true; readonly value: Expression }
  | { readonly ok: false; readonly text: string; readonly column: number };

const ATTRIBUTE = /^[a-zA-Z][a-zA-Z0-9_]*(?:[.-][a-zA-Z0-9_]+)*$/;
const ORDERED: readonly ExpressionOperator[] = ['>=', '<=', '>', '<'];
/** Attributes that are amounts: compared in the unit of the resource they name. */
const AMOUNTS: Readonly<Record<string, (text: string) => Reading>> = {
  // A host with 96 cores is nothing strange, so a bare number is believed here.
  cpu: (text) => readCpu(text, Infinity),
  memory: readMemory,
  disk: readDisk,
};

/** `host.zone` → `zone`; `host` alone means the host itself, `id`. */
export function readAttribute(written: string): { ok: true; value: string } | { ok: false; text: string } {
  const text = written.trim();
  if (text === 'host') return { ok: true, value: 'id' };
  const name = text.startsWith('host.') ? text.slice('host.'.length) : '';
  if (ATTRIBUTE.test(name) && name.length <= 63) return { ok: true, value: name };
  const hint = ATTRIBUTE.test(text) ? `; did you mean "host.${text}"?` : '';
  return { ok: false, text: `"${text}" is no attribute of a host, such as "host.zone"${hint}` };
}

/** How a person would write the attribute. */
export function formatAttribute(attribute: string): string {
  return attribute === 'id' ? 'host' : `host.${attribute}`;
}

/** `host.os == linux`, `host.memory >= 2Gi`, `host.class in ssd, nvme`, `host.gpu exists`. */
export function readExpression(written: string): ExpressionReading {
  const text = written.trim();
  const lead = written.length - written.trimStart().length;
  const unsafe = unsafeText(text, TEXT_BYTES_MAX);
  if (unsafe !== null) return { ok: false, text: `an expression ${unsafe}`, column: lead };
  const head = /^(\S+?)(?=\s|[=!<>]|$)\s*/.exec(text);
  if (head === null) return fault('expected an expression such as "host.os == linux"', lead);
  const attribute = readAttribute(head[1] ?? '');
  if (!attribute.ok) return fault(attribute.text, lead);
  const rest = text.slice(head[0].length);
  const mark = /^(==|!=|>=|<=|>|<|in\b|exists\b)\s*/.exec(rest);
  if (mark === null) return fault(operatorFault(rest), lead + head[0].length);
  const operator = mark[1] as ExpressionOperator;
  const value = readOperand(attribute.value, operator, rest.slice(mark[0].length).trim());
  if (!value.ok) return fault(value.text, lead + head[0].length + mark[0].length);
  return { ok: true, value: { attribute: attribute.value, operator, value: value.value, text } };
}

function fault(text: string, column: number): ExpressionReading {
  return { ok: false, text, column };
}

function operatorFault(rest: string): string {
  const typed = /^(\S*)/.exec(rest)?.[1] ?? '';
  const known = `expected one of ${EXPRESSION_OPERATORS.join(' ')}`;
  if (typed === '') return known;
  if (/^=[^=]?/.test(typed)) return `${known}, not "${typed}"; did you mean "=="?`;
  return `${known}, not "${typed}"${didYouMean(typed, ['in', 'exists'])}`;
}

type Operand = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly text: string };

function readOperand(attribute: string, operator: ExpressionOperator, written: string): Operand {
  if (operator === 'exists') {
    return written === '' ? { ok: true, value: '' } : { ok: false, text: '"exists" takes no value' };
  }
  if (written === '') return { ok: false, text: `"${operator}" needs a value` };
  if (operator === 'in') return readList(attribute, written);
  return readOne(attribute, operator, unquote(written));
}

function readOne(attribute: string, operator: ExpressionOperator, written: string): Operand {
  const amount = Object.hasOwn(AMOUNTS, attribute) ? AMOUNTS[attribute] : undefined;
  if (amount !== undefined) {
    const reading = amount(written);
    return reading.ok ? { ok: true, value: String(reading.value) } : reading;
  }
  if (!ORDERED.includes(operator)) return { ok: true, value: written };
  if (/^-?\d{1,15}$/.test(written)) return { ok: true, value: String(Number(written)) };
  return { ok: false, text: `"${operator}" compares whole numbers; "${written}" is none` };
}

/** `ssd, nvme` or `[ssd, nvme]` → `ssd,nvme`. */
function readList(attribute: string, written: string): Operand {
  const inner = /^\[(.*)\]$/.exec(written)?.[1] ?? written;
  const values: string[] = [];
  for (const part of inner.split(',')) {
    const item = unquote(part.trim());
    if (item === '') return { ok: false, text: 'an empty value in the list of "in"' };
    const one = readOne(attribute, 'in', item);
    if (!one.ok) return one;
    values.push(one.value);
  }
  return { ok: true, value: values.join(',') };
}

function unquote(text: string): string {
  return /^"([^"]*)"$/.exec(text)?.[1] ?? /^'([^']*)'$/.exec(text)?.[1] ?? text;
}
