import { randomUUID } from 'node:crypto';
import { webSocketClient } from '../../src/adapters/http/channel-client.ts';
import { systemClock, systemRandom } from '../../src/adapters/system/system.ts';
import { AttachSession } from '../../src/clients/attach-session.ts';
import type { HostClient } from '../../src/clients/host-client.ts';

/** A shell script inside a task, at its host. @returns its exit code, and all that it said */
export async function runInside(
  client: HostClient,
  address: string,
  allocation: string,
  script: string,
): Promise<{ readonly code: number | undefined; readonly said: string }> {
  const commandId = randomUUID();
  await client.exec(address, allocation, { commandId, command: ['sh', '-c', script] });
  let said = '';
  const session = new AttachSession(
    { allocation, command: commandId },
    {
      channels: webSocketClient(),
      clock: systemClock,
      random: systemRandom,
      addresses: () => [address],
      onOutput: (_stream, bytes) => void (said += Buffer.from(bytes).toString()),
    },
  );
  const end = await session.run(new AbortController().signal);
  return { code: end?.exit.code, said };
}
