import type { ListPage } from '../wire/api/monitor-api.ts';

/** Rows that one call brings: few enough that a monitor which serves it goes on with others soon. */
const PAGE_ROWS = 5_000;

/** One page of a list. Without a limit: all of it, page by page. */
export interface PageOptions {
  readonly limit?: number;
  /** The `next` of an earlier answer. */
  readonly cursor?: string;
}

/**
 * A list in pages, put together. A monitor that knows no pages answers with all of it at once.
 *
 * @param ask one page
 * @param join two answers in a row
 */
export async function readPages<A extends ListPage>(
  options: PageOptions,
  ask: (page: PageOptions) => Promise<A>,
  join: (before: A, after: A) => A,
): Promise<A> {
  const { limit, cursor } = options;
  if (limit !== undefined) return ask({ limit, ...(cursor === undefined ? {} : { cursor }) });
  let all = await ask({ limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) });
  while (all.next !== undefined) all = join(all, await ask({ limit: PAGE_ROWS, cursor: all.next }));
  return all;
}
