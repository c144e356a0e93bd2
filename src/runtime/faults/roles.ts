/** The roles that do I/O, as fail-points name them. A hollow host is an agent. */
export const FAIL_ROLES = ['scheduler', 'agent', 'monitor', 'arbiter'] as const;
export type FailRole = (typeof FAIL_ROLES)[number];
