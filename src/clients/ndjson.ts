/** The reader of NDJSON lies in `runtime`, which follows report streams itself; clients find it here. */
export {
  ndjson,
  ndjsonLine,
  NdjsonError,
  NdjsonParser,
  NDJSON_LINE_BYTES_MAX,
} from '../runtime/stream/ndjson.ts';
