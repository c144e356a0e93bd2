/** A file that a browser loads, as the build made it. */
export interface PageFile {
  readonly contentType: string;
  readonly plain: Uint8Array;
  readonly gzip: Uint8Array;
}

/** By name; the page itself is `index.html`. Every other name changes with what the file holds. */
export type PageFiles = ReadonlyMap<string, PageFile>;

export const PAGE_INDEX = 'index.html';
