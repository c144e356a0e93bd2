/** What is taken of openb-2023 if nothing else is said. */
export const ALL = { list: 'default', nodes: 'all' } as const;
