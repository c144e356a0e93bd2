/**
 * Calls, at least once, when whoever started this process is gone, if it asked for that with `MOORAGE_STOP_WITH_PARENT`: our standard
 * input is then a pipe from it to which nothing is ever written, and which closes with it however it dies.
 */
export function onParentGone(env: Readonly<Record<string, string | undefined>>, gone: () => void): void {
  if (env.MOORAGE_STOP_WITH_PARENT === undefined) return;
  for (const event of ['end', 'close', 'error']) process.stdin.once(event, gone);
  process.stdin.resume();
}
