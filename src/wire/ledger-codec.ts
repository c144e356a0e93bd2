import { ELIGIBILITY } from '../core/host.ts';
import type { Ledger } from '../core/ledger.ts';
import type { Resources } from '../core/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../core/resources.ts';
import type { Codec } from './codec.ts';
import type { Fields } from './record-fields.ts';
import {
  asCount,
  asList,
  asObject,
  asOneOf,
  parseFields,
  readAmounts,
  RECORD_VERSION,
  unknownFields,
  writeAmounts,
  wrong,
} from './record-fields.ts';

const KIND = 'ledger';
const PRECEDENCE = /^(?:0|[1-9][0-9]?|100)$/;
const PORT_MAX = 65_535;
const KNOWN = new Set(['v', 'state', 'counter', 'bands', 'gpuMilli', 'ports']);
const NO_NUMBERS: readonly number[] = Object.freeze([]);

/**
 * The ledger as text, about 45 characters for a host with one band. What is as in `EMPTY_LEDGER` is left out.
 *
 *     {"v":1,"bands":{"50":[1500,2048,0,{"licence":1}]},"gpuMilli":[500],"ports":[20000]}
 */
export const ledgerCodec: Codec<Ledger> = { encode: encodeLedger, decode: decodeLedger };

function encodeLedger(ledger: Ledger): string {
  const { state, counter, bands, gpuMilli, ports, ...rest } = ledger;
  const record: Record<string, unknown> = { v: RECORD_VERSION };
  if (state !== 'ready') record['state'] = state;
  if (counter !== 0) record['counter'] = counter;
  let written: Record<string, unknown> | null = null;
  for (const precedence in bands) {
    (written ??= {})[precedence] = writeAmounts(bands[precedence as unknown as number] as Resources);
  }
  if (written !== null) record['bands'] = written;
  if (gpuMilli.length > 0) record['gpuMilli'] = gpuMilli;
  if (ports.length > 0) record['ports'] = ports;
  Object.assign(record, rest);
  return JSON.stringify(record);
}

function decodeLedger(text: string): Ledger {
  const fields = parseFields(KIND, text);
  const ledger: Ledger = {
    state: fields['state'] === undefined ? 'ready' : asOneOf(KIND, 'state', fields['state'], ELIGIBILITY),
    counter: fields['counter'] === undefined ? 0 : asCount(KIND, 'counter', fields['counter']),
    bands: readBands(fields),
    gpuMilli: readNumbers(fields, 'gpuMilli', GPU_MILLI_PER_DEVICE),
    ports: readNumbers(fields, 'ports', PORT_MAX),
  };
  const rest = unknownFields(fields, KNOWN);
  return rest === null ? ledger : { ...rest, ...ledger };
}

function readBands(fields: Fields): Readonly<Record<number, Resources>> {
  const bands: Record<string, Resources> = {};
  if (fields['bands'] === undefined) return bands;
  const written = asObject(KIND, 'bands', fields['bands']);
  for (const precedence in written) {
    if (!PRECEDENCE.test(precedence)) throw wrong(KIND, 'bands', 'precedences from 0 to 100', precedence);
    bands[precedence] = readAmounts(KIND, `bands.${precedence}`, written[precedence]);
  }
  return bands;
}

function readNumbers(fields: Fields, name: string, max: number): readonly number[] {
  if (fields[name] === undefined) return NO_NUMBERS;
  const list = asList(KIND, name, fields[name]);
  for (const number of list) {
    if (asCount(KIND, name, number) > max) throw wrong(KIND, name, `at most ${String(max)}`, number);
  }
  return list as readonly number[];
}
