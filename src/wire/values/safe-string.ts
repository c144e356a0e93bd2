/**
 * Why the text must not go into a command, an environment or a record; null when it may. A NUL ends a C string early, so the
 * started command would differ from the checked one; half a surrogate pair cannot be written as UTF-8.
 */
export function unsafeText(text: string, bytesMax: number): string | null {
  if (text.includes('\0')) return 'must not contain a NUL character';
  if (/\p{Surrogate}/u.test(text)) return 'must be valid Unicode';
  // No UTF-8 text is shorter than its UTF-16 code units, or longer than three times as many bytes.
  if (text.length > bytesMax || (3 * text.length > bytesMax && utf8Bytes(text) > bytesMax))
    return `must be at most ${String(bytesMax)} bytes`;
  return null;
}

const ENCODER = new TextEncoder();

export function utf8Bytes(text: string): number {
  return ENCODER.encode(text).length;
}
