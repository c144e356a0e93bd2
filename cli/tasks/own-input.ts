import type { AttachSession } from '../../src/clients/attach-session.ts';

/**
 * Passes standard input on, at the pace at which the other side takes it.
 * @param onFirst called once, before the first byte is passed on
 * @returns ends it
 */
export function readInput(session: AttachSession, onFirst?: () => void): () => void {
  const { stdin } = process;
  const take = (chunk: Buffer): void => {
    onFirst?.();
    stdin.pause();
    void session.write(chunk).then(() => stdin.resume());
  };
  const end = (): void => session.endInput();
  stdin.on('data', take);
  stdin.once('end', end);
  // It may have ended before.
  if (stdin.readableEnded) end();
  else stdin.resume();
  return () => {
    stdin.off('data', take);
    stdin.off('end', end);
    stdin.pause();
    // A pipe or a terminal that stays open would keep this process; a file has nothing to keep it with.
    (stdin as Partial<typeof stdin>).unref?.();
  };
}

export function noInput(session: AttachSession): () => void {
  session.endInput();
  return () => undefined;
}

/** Each key as it is pressed, and the size of the window. @returns makes the terminal what it was */
export function rawTerminal(session: AttachSession): () => void {
  const { stdin, stdout } = process;
  const resize = (): void => session.resize(stdout.rows, stdout.columns);
  if (stdout.isTTY) {
    resize();
    stdout.on('resize', resize);
  }
  if (stdin.isTTY) stdin.setRawMode(true);
  return () => {
    stdout.off('resize', resize);
    if (stdin.isTTY) stdin.setRawMode(false);
  };
}
