import type { Allocation } from '../../core/cell/allocation.ts';
import { DESIRED_STATES } from '../../core/cell/allocation.ts';
import { SURPLUS_PRECEDENCE } from '../../core/cell/claim.ts';
import type { Epoch } from '../../core/cell/epoch.ts';
import type { PendingPreemption } from '../../core/cell/intent.ts';
import type { GpuShare, Resources } from '../../core/cell/resources.ts';
import type { VolumeUse } from '../../core/cell/volume.ts';
import { VOLUME_ACCESS, VOLUME_ON_LOSS } from '../../core/cell/volume.ts';
import type { Codec } from '../wire.ts';
import {
  amountsText,
  asCount,
  asCounts,
  asList,
  asObject,
  asOneOf,
  asText,
  parseFields,
  quote,
  readAmounts,
  RECORD_VERSION,
  unknownFields,
  unknownFieldsText,
  wrong,
} from '../codec/record-fields.ts';

const KIND = 'allocation';
const PRECEDENCE_MAX = 100;
const NO_GPUS: readonly GpuShare[] = Object.freeze([]);
const NO_PORTS: Readonly<Record<string, number>> = Object.freeze({});
/** Fields of an allocation in memory without any of the optional ones. */
const FIELDS = 17;
const KNOWN = new Set(
  (
    'v id host precedence resources gpus ports namespace job jobVersion group index attempt scheduler desired planId ' +
    'epoch createdAtMs cause replaces evicts intent displaces yields shared volumes'
  ).split(' '),
);

/**
 * One allocation as text, about 350 characters. Resources, devices and the epoch are lists, and empty fields are left out:
 * the store holds a million of these.
 *
 *     {"v":1,"id":"01j...","host":"h1","precedence":50,"resources":[100,64,0],"gpus":[[0,500]],"ports":{"http":20000},
 *      "namespace":"default","job":"web",...,"epoch":["6b1e...",3],"createdAtMs":1760000000000}
 */
export const allocationCodec: Codec<Allocation> = { encode: encodeAllocation, decode: decodeAllocation };

function encodeAllocation(a: Allocation): string {
  let text = `{"v":${String(RECORD_VERSION)},"id":${quote(a.id)},"host":${quote(a.host)}${claimText(a)}`;
  if (a.gpus.length > 0) text += `,"gpus":${sharesText(a.gpus)}`;
  if (hasFields(a.ports)) text += `,"ports":${JSON.stringify(a.ports)}`;
  text += `,"index":${String(a.index)},"attempt":${String(a.attempt)}${decisionText(a)}`;
  let fields = FIELDS;
  const put = (name: string, written: string): void => {
    text += `,"${name}":${written}`;
    fields += 1;
  };
  if (a.cause !== undefined) put('cause', JSON.stringify(a.cause));
  if (a.replaces !== undefined) put('replaces', quote(a.replaces));
  if (a.evicts !== undefined) put('evicts', JSON.stringify(a.evicts));
  if (a.intent !== undefined) put('intent', quote(a.intent));
  if (a.displaces !== undefined) put('displaces', JSON.stringify(a.displaces));
  if (a.yields !== undefined) put('yields', yieldText(a.yields));
  if (a.shared !== undefined) put('shared', JSON.stringify(a.shared));
  if (a.volumes !== undefined) put('volumes', JSON.stringify(a.volumes));
  if (Object.keys(a).length > fields) text += unknownFieldsText(a, KNOWN);
  return `${text}}`;
}

function sharesText(gpus: readonly GpuShare[]): string {
  return `[${gpus.map(({ device, milli }) => `[${String(device)},${String(milli)}]`).join(',')}]`;
}

/** `{"to":["default","train","01j..."],"keeps":[100,64,0],"gpus":[[0,500]]}` */
function yieldText({ intent, keeps }: PendingPreemption): string {
  const to = JSON.stringify([intent.namespace, intent.job, intent.id]);
  const gpus = keeps.gpus.length === 0 ? '' : `,"gpus":${sharesText(keeps.gpus)}`;
  return `{"to":${to},"keeps":${amountsText(keeps.resources)}${gpus}}`;
}

/** Allocations of one group share one resources object. */
let lastResources: Resources | null = null;
let lastPrecedence = 0;
let lastClaimText = '';

function claimText({ resources, precedence }: Allocation): string {
  if (resources !== lastResources || precedence !== lastPrecedence) {
    lastClaimText = `,"precedence":${String(precedence)},"resources":${amountsText(resources)}`;
    [lastResources, lastPrecedence] = [resources, precedence];
  }
  return lastClaimText;
}

/** The part that allocations of one decision share: they are encoded one after the other. */
let lastDecision: Allocation | null = null;
let lastDecisionText = '';

function decisionText(a: Allocation): string {
  if (lastDecision === null || !isSameDecision(lastDecision, a)) {
    lastDecision = a;
    lastDecisionText =
      `,"namespace":${quote(a.namespace)},"job":${quote(a.job)},"jobVersion":${String(a.jobVersion)}` +
      `,"group":${quote(a.group)},"scheduler":${quote(a.scheduler)},"desired":"${a.desired}"` +
      `,"planId":${quote(a.planId)},"epoch":[${quote(a.epoch.incarnation)},${String(a.epoch.counter)}]` +
      `,"createdAtMs":${String(a.createdAtMs)}`;
  }
  return lastDecisionText;
}

function isSameDecision(a: Allocation, b: Allocation): boolean {
  return (
    a.planId === b.planId &&
    a.group === b.group &&
    a.job === b.job &&
    a.namespace === b.namespace &&
    a.jobVersion === b.jobVersion &&
    a.scheduler === b.scheduler &&
    a.desired === b.desired &&
    a.createdAtMs === b.createdAtMs &&
    a.epoch.counter === b.epoch.counter &&
    a.epoch.incarnation === b.epoch.incarnation
  );
}

function hasFields(value: object): boolean {
  for (const _name in value) return true;
  return false;
}

function decodeAllocation(text: string): Allocation {
  const fields = parseFields(KIND, text);
  const text_ = (name: string): string => asText(KIND, name, fields[name]);
  const count = (name: string): number => asCount(KIND, name, fields[name]);
  const precedence = fields['precedence'] === SURPLUS_PRECEDENCE ? SURPLUS_PRECEDENCE : count('precedence');
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
    ...(fields['intent'] === undefined ? null : { intent: text_('intent') }),
    ...(fields['displaces'] === undefined
      ? null
      : { displaces: readTexts('displaces', fields['displaces']) }),
    ...(fields['yields'] === undefined ? null : { yields: readYield(fields['yields']) }),
    ...(fields['shared'] === undefined ? null : { shared: asCounts(KIND, 'shared', fields['shared']) }),
    ...(fields['volumes'] === undefined ? null : { volumes: readVolumes(fields['volumes']) }),
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

function readYield(value: unknown): PendingPreemption {
  if (typeof value !== 'object' || value === null) throw wrong(KIND, 'yields', 'fields', value);
  const { to, keeps, gpus } = value as Readonly<Record<string, unknown>>;
  const [namespace = '', job = '', id = '', ...more] = readTexts('yields.to', to);
  if (id === '' || more.length > 0) throw wrong(KIND, 'yields.to', 'three parts', to);
  const resources = readAmounts(KIND, 'yields.keeps', keeps);
  return {
    intent: { namespace, job, id },
    keeps: { resources, gpus: gpus === undefined ? NO_GPUS : readShares(gpus) },
  };
}

function readVolumes(value: unknown): readonly VolumeUse[] {
  return asList(KIND, 'volumes', value).map((entry, position) => {
    const place = `volumes.${String(position)}`;
    const fields = asObject(KIND, place, entry);
    const text = (name: string): string => asText(KIND, `${place}.${name}`, fields[name]);
    return {
      ...{ name: text('name'), claim: text('claim'), id: text('id') },
      ...(fields['source'] === undefined ? null : { source: text('source') }),
      access: asOneOf(KIND, `${place}.access`, fields['access'], VOLUME_ACCESS),
      ...(fields['readOnly'] === true ? { readOnly: true as const } : null),
      onLoss: asOneOf(KIND, `${place}.onLoss`, fields['onLoss'], VOLUME_ON_LOSS),
      ...(fields['driver'] === undefined ? null : { driver: text('driver') }),
      ...(fields['sizeMib'] === undefined
        ? null
        : { sizeMib: asCount(KIND, `${place}.sizeMib`, fields['sizeMib']) }),
      ...(fields['create'] === true ? { create: true as const } : null),
      ...(fields['force'] === true ? { force: true as const } : null),
    };
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
