/** Colours that can be read on a light and a dark background: green, yellow, blue, magenta, cyan. */
const NAME_COLOURS = [32, 33, 34, 35, 36] as const;

export function coloured(text: string, code: number, colour: boolean): string {
  return colour ? `\u001b[${String(code)}m${text}\u001b[0m` : text;
}

/** The same name has the same colour in every command. */
export function colouredName(name: string, colour: boolean): string {
  let hash = 0;
  for (const char of name) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 65_521;
  return coloured(name, NAME_COLOURS[hash % NAME_COLOURS.length] ?? 36, colour);
}

const RED = 31;

export function alarming(text: string, colour: boolean): string {
  return coloured(text, RED, colour);
}
