import { createReadStream } from 'node:fs';
import { JOB_TEXT_BYTES_MAX } from '../../src/wire/values/bounds.ts';
import { CliError, EXIT } from './exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';

const JOB_HINT = 'moorage validate FILE   (examples lie in examples/)';

/**
 * The text of a job file, or of a workload; `-` is standard input. Reads no further than it takes to know that it is too large: a name
 * may stand for a device or a pipe without an end.
 *
 * @throws CliError when it cannot be read, or is no text
 */
export async function readText(file: string, hint = JOB_HINT): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    const input = file === '-' ? process.stdin : createReadStream(file);
    for await (const chunk of input as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > JOB_TEXT_BYTES_MAX) break;
    }
  } catch (error) {
    throw unreadable(file, fileFault(error), hint, error);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks), {
      // Cut in the middle of a letter it is still text, and too large.
      stream: bytes > JOB_TEXT_BYTES_MAX,
    });
  } catch (error) {
    throw unreadable(file, 'it is no text in UTF-8', hint, error);
  }
}

function unreadable(file: string, why: string, hint: string, cause: unknown): CliError {
  return new CliError(EXIT.badSpec, `${file}: ${why}`, hint, cause);
}
