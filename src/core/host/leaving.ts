/**
 * How an allocation leaves a host that is drained, for people: it depends on the type of its job.
 * @param stays a drain does not move it (`reschedule.onDrain`)
 */
export function leaving(type: string, { hasDeadline, stays }: Leaving): string {
  if (stays)
    return hasDeadline
      ? 'runs on to the deadline, and is started anew when the host is ready again'
      : 'runs on: its job is not moved by a drain, and there is no deadline';
  if (type === 'batch')
    return hasDeadline
      ? 'runs to its end, or to the deadline and then again elsewhere'
      : 'runs to its end: there is no deadline';
  return type === 'system'
    ? 'is stopped, in its turn'
    : 'is stopped, in its turn, and started anew on another host';
}

interface Leaving {
  readonly hasDeadline: boolean;
  readonly stays: boolean;
}
