/** The lists of openb-2023 that are read by default. */
export const ALL = { list: 'default', nodes: 'all' } as const;
