import type { Allocation } from '../core/allocation.ts';
import { DESIRED_STATES } from '../core/allocation.ts';
import type { Epoch } from '../core/epoch.ts';
import type { GpuShare } from '../core/resources.ts';
import type { Codec } from './codec.ts';
import {
  asCount,
  asCounts,
  asList,
  asOneOf,
  asText,
  parseFields,
  readAmounts,
  RECORD_VERSION,
  unknownFields,
  writeAmounts,
  wrong,
} from './record-fields.ts';

const KIND = 'allocation';
const PRECEDENCE_MAX = 100;
const NO_GPUS: readonly GpuShare[] = Object.freeze([]);
const NO_PORTS: Readonly<Record<string, number>> = Object.freeze({});
const KNOWN = new Set(
  (
    'v id host precedence resources gpus ports namespace job jobVersion group index attempt scheduler desired planId ' +
    'epoch createdAtMs cause replaces evicts'
  ).split(' '),
);

/**
 * One allocation as text, about 350 characters. Resources, devices and the epoch are lists, and what is empty is left
 * out: the store carries a million of these.
 *
 *     {"v":1,"id":"01j...","host":"h1","precedence":50,"resources":[100,64,0],"gpus":[[0,500]],"ports":{"http":20000},
 *      "namespace":"default","job":"web",...,"epoch":["6b1e...",3],"createdAtMs":1760000000000}
 */
export const allocationCodec: Codec<Allocation> = { encode: encodeAllocation, decode: decodeAllocation };

function encodeAllocation(allocation: Allocation): string {
  const { id, host, precedence, resources, gpus, ports, epoch, ...rest } = allocation;
  const record: Record<string, unknown> = {
    v: RECORD_VERSION,
    id,
    host,
    precedence,
    resources: writeAmounts(resources),
  };
  if (gpus.length > 0) record['gpus'] = gpus.map((share) => [share.device, share.milli]);
  for (const _label in ports) {
    record['ports'] = ports;
    break;
  }
  record['epoch'] = [epoch.incarnation, epoch.counter];
  Object.assign(record, rest);
  return JSON.stringify(record);
}

function decodeAllocation(text: string): Allocation {
  const fields = parseFields(KIND, text);
  const text_ = (name: string): string => asText(KIND, name, fields[name]);
  const count = (name: string): number => asCount(KIND, name, fields[name]);
  const precedence = count('precedence');
  if (precedence > PRECEDENCE_MAX) throw wrong(KIND, 'precedence', 'at most 100', precedence);
  const allocation: Allocation = {
    id: text_('id'),
    host: text_('host'),
    precedence,
    resources: readAmounts(KIND, 'resources', fields['resources']),
    gpus: fields['gpus'] === undefined ? NO_GPUS : readShares(fields['gpus']),
    ports: fields['ports'] === undefined ? NO_PORTS : asCounts(KIND, 'ports', fields['ports']),
    namespace: text_('namespace'),
    job: text_('job'),
    jobVersion: count('jobVersion'),
    group: text_('group'),
    index: count('index'),
    attempt: count('attempt'),
    scheduler: text_('scheduler'),
    desired: asOneOf(KIND, 'desired', fields['desired'], DESIRED_STATES),
    planId: text_('planId'),
    epoch: readEpoch(fields['epoch']),
    createdAtMs: count('createdAtMs'),
    ...(fields['cause'] === undefined ? null : { cause: text_('cause') }),
    ...(fields['replaces'] === undefined ? null : { replaces: text_('replaces') }),
    ...(fields['evicts'] === undefined ? null : { evicts: readTexts('evicts', fields['evicts']) }),
  };
  const rest = unknownFields(fields, KNOWN);
  return rest === null ? allocation : { ...rest, ...allocation };
}

function readShares(value: unknown): readonly GpuShare[] {
  return asList(KIND, 'gpus', value).map((entry, position) => {
    const place = `gpus.${String(position)}`;
    const pair = asList(KIND, place, entry);
    if (pair.length !== 2) throw wrong(KIND, place, 'two parts', entry);
    return { device: asCount(KIND, place, pair[0]), milli: asCount(KIND, place, pair[1]) };
  });
}

function readEpoch(value: unknown): Epoch {
  const pair = asList(KIND, 'epoch', value);
  if (pair.length !== 2) throw wrong(KIND, 'epoch', 'two parts', value);
  return { incarnation: asText(KIND, 'epoch', pair[0]), counter: asCount(KIND, 'epoch', pair[1]) };
}

function readTexts(name: string, value: unknown): readonly string[] {
  return asList(KIND, name, value).map((entry) => asText(KIND, name, entry));
}
