import type { z } from 'zod';

/** True: the schema would take the value as it is. May be false for what the schema takes, never true for what it refuses. */
export type QuickCheck = (value: unknown) => boolean;

const known = new WeakMap<z.core.$ZodType, QuickCheck>();

/** A check for a schema that changes what it reads: the check makes the same change, in place. */
export function quickCheckOf(schema: z.core.$ZodType, check: QuickCheck): void {
  known.set(schema, check);
}

/**
 * The schema as plain functions, which take a tenth of the time: `safeParse` makes a context, a payload and a copy for
 * every field, and nearly all that is read here was written by this program. What the functions refuse goes to the schema,
 * which gives the reason; so does everything under a schema of a kind that is not known here.
 */
export function quickCheck(schema: z.core.$ZodType): QuickCheck {
  let check = known.get(schema);
  if (check === undefined) known.set(schema, (check = compile(schema)));
  return check;
}

const never: QuickCheck = () => false;

function compile(schema: z.core.$ZodType): QuickCheck {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  switch (def.type) {
    case 'string':
      return bounded(def, (value) => typeof value === 'string');
    case 'number':
      return bounded(def, (value) => Number.isSafeInteger(value));
    case 'boolean':
      return def.checks === undefined ? (value) => typeof value === 'boolean' : never;
    case 'enum':
      return oneOf(Object.values(def.entries));
    case 'literal':
      return oneOf(def.values);
    case 'nullable':
      return orNull(quickCheck(def.innerType));
    case 'array':
      return listOf(def);
    case 'record':
      return recordOf(def);
    case 'object':
      return objectOf(def);
    default:
      return never;
  }
}

function oneOf(values: readonly unknown[]): QuickCheck {
  const all = new Set(values);
  return (value) => all.has(value);
}

function orNull(inner: QuickCheck): QuickCheck {
  return (value) => value === null || inner(value);
}

function listOf(def: z.core.$ZodArrayDef): QuickCheck {
  const element = quickCheck(def.element);
  return bounded(def, (value) => {
    if (!Array.isArray(value)) return false;
    for (const one of value) if (!element(one)) return false;
    return true;
  });
}

function recordOf(def: z.core.$ZodRecordDef): QuickCheck {
  if ((def.keyType as z.core.$ZodTypes)._zod.def.type !== 'string') return never;
  const [key, of] = [quickCheck(def.keyType), quickCheck(def.valueType)];
  return bounded(def, (value) => {
    if (!isObject(value)) return false;
    // The schema drops such a key.
    for (const name in value) if (name === '__proto__' || !key(name) || !of(value[name])) return false;
    return true;
  });
}

/** Only without fields that the schema does not know: the rest would need bounds, or a copy, or is refused. */
function objectOf(def: z.core.$ZodObjectDef): QuickCheck {
  const fields = Object.entries(def.shape).map(([name, field]) => {
    const inner = (field as z.core.$ZodTypes)._zod.def;
    const isOptional = inner.type === 'optional';
    return { name, isOptional, check: quickCheck(isOptional ? inner.innerType : field) };
  });
  return bounded(def, (value) => {
    if (!isObject(value)) return false;
    let left = 0;
    for (const _name in value) left += 1;
    for (const { name, isOptional, check } of fields) {
      const field = value[name];
      if (field === undefined && isOptional) continue;
      if (!check(field)) return false;
      left -= 1;
    }
    return left === 0;
  });
}

interface Bound {
  readonly check: string;
  readonly value?: unknown;
  readonly inclusive?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: RegExp;
  readonly fn?: unknown;
}

/** Adds the schema's own tests, and its bounds on size and length. */
function bounded(
  def: { readonly checks?: readonly z.core.$ZodCheck<never>[] | undefined; readonly format?: unknown },
  check: QuickCheck,
): QuickCheck {
  const tests: ((value: never) => boolean)[] = [];
  for (const one of def.checks ?? []) {
    const test = boundOf(one._zod.def);
    if (test === null) return never;
    tests.push(test);
  }
  if (tests.length === 0) return check;
  return (value) => check(value) && tests.every((test) => test(value as never));
}

function boundOf(bound: Bound): ((value: never) => boolean) | null {
  const { check, value: edge, inclusive, minimum, maximum, pattern, fn } = bound;
  if (check === 'greater_than' && typeof edge === 'number')
    return inclusive === true ? (value: number) => value >= edge : (value: number) => value > edge;
  if (check === 'less_than' && typeof edge === 'number')
    return inclusive === true ? (value: number) => value <= edge : (value: number) => value < edge;
  if (check === 'min_length' && minimum !== undefined)
    return (value: { readonly length: number }) => value.length >= minimum;
  if (check === 'max_length' && maximum !== undefined)
    return (value: { readonly length: number }) => value.length <= maximum;
  if (check === 'string_format' && pattern !== undefined && pattern.flags === '')
    return (value: string) => pattern.test(value);
  // Anything but true may be a promise.
  if (check === 'custom' && typeof fn === 'function')
    return (value: unknown) => (fn as (value: unknown) => unknown)(value) === true;
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
