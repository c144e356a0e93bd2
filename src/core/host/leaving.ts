/** How an allocation leaves a host that is drained, for people: it depends on the type of its job. */
export function leaving(type: string, hasDeadline: boolean): string {
  if (type === 'batch')
    return hasDeadline
      ? 'runs to its end, or to the deadline and then again elsewhere'
      : 'runs to its end: there is no deadline';
  return type === 'system'
    ? 'is stopped, in its turn'
    : 'is stopped, in its turn, and started anew on another host';
}
