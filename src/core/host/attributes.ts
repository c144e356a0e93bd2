import type { Host } from './host.ts';
import type { Expression } from '../cell/job.ts';

const PREFIX = 'host.';

/** The name under which the attribute is stored: without a leading `host.`; `host` is the id. */
export function plainAttribute(attribute: string): string {
  if (attribute === 'host') return 'id';
  return attribute.startsWith(PREFIX) ? attribute.slice(PREFIX.length) : attribute;
}

/**
 * The host's value of an attribute; undefined: none. Derived attributes come first, so that no agent can claim to be
 * another host: `id`, `cpu` (millicores), `memory` and `disk` (MiB), `gpus` (devices), `gpuModel` (all models, sorted, with
 * commas).
 */
export function attributeOf(host: Host, attribute: string): string | undefined {
  const name = plainAttribute(attribute);
  switch (name) {
    case 'id':
      return host.id;
    case 'cpu':
      return String(host.capacity.cpuMilli);
    case 'memory':
      return String(host.capacity.memoryMib);
    case 'disk':
      return String(host.capacity.diskMib);
    case 'gpus':
      return String(host.gpuModels.length);
    case 'gpuModel':
      return host.gpuModels.length === 0 ? undefined : [...new Set(host.gpuModels)].sort().join(',');
    default:
      return Object.hasOwn(host.attributes, name) ? host.attributes[name] : undefined;
  }
}

/**
 * Does the host meet the expression? A missing attribute meets only `!=`. `in` takes a list with commas. The ordered
 * operators compare whole numbers, and are false where a side is none.
 */
export function meets(host: Host, expression: Expression): boolean {
  return compare(attributeOf(host, expression.attribute), expression);
}

function compare(have: string | undefined, { operator, value }: Expression): boolean {
  switch (operator) {
    case '==':
      return have === value;
    case '!=':
      return have !== value;
    case 'exists':
      return have !== undefined;
    case 'in':
      return have !== undefined && listOf(value).includes(have);
    case '>=':
      return order(have, value, (a, b) => a >= b);
    case '<=':
      return order(have, value, (a, b) => a <= b);
    case '>':
      return order(have, value, (a, b) => a > b);
    case '<':
      return order(have, value, (a, b) => a < b);
  }
}

/** The values of an `in` list. */
export function listOf(value: string): readonly string[] {
  return value.split(',').map((part) => part.trim());
}

function order(have: string | undefined, value: string, holds: (a: number, b: number) => boolean): boolean {
  if (have === undefined) return false;
  const left = wholeNumber(have);
  const right = wholeNumber(value);
  return left !== null && right !== null && holds(left, right);
}

function wholeNumber(text: string): number | null {
  return /^-?\d+$/.test(text) ? Number(text) : null;
}

/** The attribute of the driver that every command needs. */
const DRIVER = 'driver.exec';

/** A host that declares drivers must declare this one; one that declares none passes. */
export function hasDriver(host: Host): boolean {
  const declared = host.attributes[DRIVER];
  if (declared !== undefined) return declared !== 'false';
  return !Object.keys(host.attributes).some((name) => name.startsWith('driver.'));
}

/** Of hosts that bring secrets to tasks, and keep them from all others. */
export const KEEPS_SECRETS = 'secrets';

/** Labels of one host. */
export const HOST_LABELS_MAX = 32;

const LABEL_NAME = /^[A-Za-z][A-Za-z0-9._-]{0,62}$/;

/** What hosts find out of themselves, or allow: tasks rely on it. */
const FOUND = [
  'id',
  'host',
  'cpu',
  'memory',
  'disk',
  'gpus',
  'gpuModel',
  'os',
  'arch',
  'hostname',
  'kernel',
  'hollow',
  'leaking',
];
const FOUND_AREAS = [
  'host',
  'driver',
  'limits',
  'isolation',
  'allow',
  'volume',
  'volumes',
  'volume-driver',
  'secrets',
  'memory',
  'disk',
];

/** May operators give this label? Null: they may; else why not, for people. */
export function labelRefusal(name: string): string | null {
  if (!LABEL_NAME.test(name))
    return `"${name}" is no name for a label: a letter, then letters, digits and . _ -, at most 63`;
  const [area = ''] = name.split('.');
  if (!FOUND.includes(name) && !FOUND_AREAS.includes(area)) return null;
  return `${name} is for the host itself to say`;
}

/** The host with what operators say of it. */
export function labelled(host: Host, labels: Readonly<Record<string, string>> | undefined): Host {
  return labels === undefined ? host : { ...host, attributes: { ...host.attributes, ...labels } };
}
