import { SURPLUS_PRECEDENCE } from '../../core/cell/claim.ts';
import { ELIGIBILITY } from '../../core/host/host.ts';
import type { Band, Ledger } from '../../core/fit/ledger.ts';
import { bandOf } from '../../core/fit/ledger.ts';
import { GPU_MILLI_PER_DEVICE } from '../../core/cell/resources.ts';
import type { Codec } from '../wire.ts';
import type { Fields } from '../codec/record-fields.ts';
import {
  amountsText,
  asCount,
  asList,
  asObject,
  asOneOf,
  parseFields,
  readAmounts,
  RECORD_VERSION,
  unknownFields,
  unknownFieldsText,
  wrong,
} from '../codec/record-fields.ts';

const KIND = 'ledger';
const PRECEDENCE = /^(?:-1|0|[1-9][0-9]?|100)$/;
const SURPLUS = String(SURPLUS_PRECEDENCE);
const PORT_MAX = 65_535;
const KNOWN = new Set(['v', 'state', 'counter', 'bands', 'gpuMilli', 'ports']);
/** Of a ledger in memory, which has no `v`. */
const FIELDS = KNOWN.size - 1;
const NO_NUMBERS: readonly number[] = Object.freeze([]);
const NO_BANDS: readonly Band[] = Object.freeze([]);

/**
 * The ledger as text, about 45 characters for a host with one band. Values of `EMPTY_LEDGER` are left out. The text names
 * bands by precedence; in memory they are a list.
 *
 *     {"v":1,"bands":{"50":[1500,2048,0,{"licence":1}]},"gpuMilli":[500],"ports":[20000]}
 */
export const ledgerCodec: Codec<Ledger> = { encode: encodeLedger, decode: decodeLedger };

function encodeLedger(ledger: Ledger): string {
  let text = `{"v":${String(RECORD_VERSION)}`;
  if (ledger.state !== 'ready') text += `,"state":"${ledger.state}"`;
  if (ledger.counter !== 0) text += `,"counter":${String(ledger.counter)}`;
  text += bandsText(ledger.bands);
  if (ledger.gpuMilli.length > 0) text += `,"gpuMilli":[${ledger.gpuMilli.join(',')}]`;
  if (ledger.ports.length > 0) text += `,"ports":[${ledger.ports.join(',')}]`;
  if (Object.keys(ledger).length > FIELDS) text += unknownFieldsText(ledger, KNOWN);
  return `${text}}`;
}

function bandsText(bands: Ledger['bands']): string {
  let text = '';
  for (const band of bands)
    text += `${text === '' ? '' : ','}"${String(band.precedence)}":${amountsText(band)}`;
  return text === '' ? '' : `,"bands":{${text}}`;
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

/** Names that are whole numbers come first and in ascending order, whatever the order of the text; that of surplus comes after them. */
function readBands(fields: Fields): readonly Band[] {
  if (fields['bands'] === undefined) return NO_BANDS;
  const written = asObject(KIND, 'bands', fields['bands']);
  const bands = Object.keys(written).map((precedence) => {
    if (!PRECEDENCE.test(precedence))
      throw wrong(KIND, 'bands', 'precedences from 0 to 100, or -1', precedence);
    return bandOf(Number(precedence), readAmounts(KIND, `bands.${precedence}`, written[precedence]));
  });
  return SURPLUS in written ? bands.sort((a, b) => a.precedence - b.precedence) : bands;
}

function readNumbers(fields: Fields, name: string, max: number): readonly number[] {
  if (fields[name] === undefined) return NO_NUMBERS;
  const list = asList(KIND, name, fields[name]);
  for (const number of list) {
    if (asCount(KIND, name, number) > max) throw wrong(KIND, name, `at most ${String(max)}`, number);
  }
  return list as readonly number[];
}
