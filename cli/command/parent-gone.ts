/**
 * Calls `gone`, at least once, when the parent process is gone, if that one set `MOORAGE_STOP_WITH_PARENT`: standard input is
 * then a pipe from the parent, which closes however the parent dies. Nothing is ever written to it.
 */
export function onParentGone(env: Readonly<Record<string, string | undefined>>, gone: () => void): void {
  if (env.MOORAGE_STOP_WITH_PARENT === undefined) return;
  for (const event of ['end', 'close', 'error']) process.stdin.once(event, gone);
  process.stdin.resume();
}
