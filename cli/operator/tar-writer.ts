/** A file of an archive. */
export interface ArchiveFile {
  /** Below the archive's folder; at most 100 bytes, of plain letters. */
  readonly path: string;
  readonly text: string;
}

const BLOCK = 512;
const PATH_BYTES_MAX = 100;

/** A tar archive (POSIX ustar) of plain files. @throws Error when a path is too long for it */
export function tarOf(files: readonly ArchiveFile[], atMs: number): Buffer {
  const blocks = files.flatMap(({ path, text }) => {
    const bytes = Buffer.from(text);
    const filled = Buffer.alloc(Math.ceil(bytes.length / BLOCK) * BLOCK);
    bytes.copy(filled);
    return [headerOf(path, bytes.length, atMs), filled];
  });
  // Two empty blocks end it.
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function headerOf(path: string, bytes: number, atMs: number): Buffer {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) throw new Error(`${path} is too long for an archive`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(path, 0);
  header.write(octal(0o600, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(bytes, 11), 124);
  header.write(octal(Math.floor(atMs / 1000), 11), 136);
  // While it is summed up, the sum itself counts as blanks.
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
