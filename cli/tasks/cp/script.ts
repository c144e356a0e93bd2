import { randomUUID } from 'node:crypto';
import { systemClock, systemRandom } from '../../../src/adapters/system/system.ts';
import { AttachSession } from '../../../src/clients/attach-session.ts';
import type { MonitorClient } from '../../../src/clients/monitor-client.ts';
import type { ChannelClient } from '../../../src/ports/http.ts';
import { CliError, EXIT } from '../../command/exit.ts';

export interface AllocationPath {
  readonly api: MonitorClient;
  readonly channels: ChannelClient;
  readonly allocation: string;
  readonly path: string;
  readonly task?: string;
}

export interface Script {
  /** The path is its `$1`. */
  readonly text: string;
  /** `$2` and on. */
  readonly args?: readonly string[];
  /** Writes its input; absent: it has none. */
  readonly feed?: (session: AttachSession) => Promise<void>;
  readonly onOutput?: (bytes: Uint8Array) => Promise<void> | void;
  readonly onError?: (text: string) => void;
}

const LAST_CHARS_MAX = 4_096;

/** @throws CliError with the last line of its error output when it fails */
export async function runScript(place: AllocationPath, script: Script): Promise<void> {
  const { api, channels, allocation, path, task } = place;
  const { text, args = [], feed, onOutput, onError } = script;
  const commandId = randomUUID();
  await api.exec(allocation, {
    commandId,
    command: ['sh', '-c', text, 'cp', path, ...args],
    ...(task === undefined ? {} : { task }),
    ...(feed === undefined ? {} : { input: true }),
  });
  let errorText = '';
  const session = new AttachSession(
    { allocation, command: commandId },
    {
      channels,
      clock: systemClock,
      random: systemRandom,
      addresses: () => api.addresses,
      onOutput: (stream, bytes) => {
        if (stream === 'stdout') return onOutput?.(Uint8Array.from(bytes));
        const words = Buffer.from(bytes).toString();
        errorText = (errorText + words).slice(-LAST_CHARS_MAX);
        onError?.(words);
      },
      onGap: (stream, bytes) => {
        throw new CliError(EXIT.ownFault, `${String(bytes)} bytes of ${stream} were lost on the way`, null);
      },
    },
  );
  const [end] = await Promise.all([session.run(new AbortController().signal), feed?.(session)]);
  if (end?.exit.code === 0) return;
  const why = errorText.trim().split('\n').at(-1) ?? '';
  throw new CliError(EXIT.ownFault, `cannot copy ${path}: ${why === '' ? 'it is not there' : why}`);
}

/** @returns its whole output, trimmed */
export async function askScript(
  place: AllocationPath,
  text: string,
  args: readonly string[] = [],
): Promise<string> {
  const parts: Uint8Array[] = [];
  await runScript(place, { text, args, onOutput: (bytes) => void parts.push(bytes) });
  return Buffer.concat(parts).toString().trim();
}
