import { expect, it } from 'vitest';
import { attemptFolder, removeAttempt } from '../../../../host-agent/tasks/attempt.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import { ATTEMPT_FILES, execName } from '../../../../src/wire/host-files/attempt-files.ts';

it('I21 the launch files of an attempt and its commands are removed before its folder', async () => {
  const disk = new MemoryDisk();
  const attempt = 'a.main.1';
  const launches = [attempt, execName(attempt, 'one'), execName(attempt, 'two')].map(
    (name) => `${attemptFolder(name)}/${ATTEMPT_FILES.launch}`,
  );
  for (const launch of launches) await disk.publish(launch, '');
  const removed: string[] = [];
  const remove = (path: string): Promise<void> => {
    removed.push(path);
    return disk.remove(path);
  };
  await removeAttempt({ list: (path) => disk.list(path), remove }, attempt);
  expect(removed).toEqual([...launches, attemptFolder(attempt)]);
});
