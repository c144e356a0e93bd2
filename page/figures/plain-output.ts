/** Older output is given up beyond this many characters. */
export const OUTPUT_CHARS_MAX = 500_000;

// Sequences that move a terminal's cursor or colour its text, and characters that no page shows.
const CONTROL = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b[@-_]|[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** Output of tasks as text: from their bytes, which may cut a character or a line anywhere. */
export class PlainOutput {
  readonly #decoder = new TextDecoder('utf-8');
  #text = '';
  #isCut = false;

  push(chunk: Uint8Array): void {
    this.#text += this.#decoder.decode(chunk, { stream: true }).replace(/\r\n/g, '\n').replace(CONTROL, '');
    if (this.#text.length <= OUTPUT_CHARS_MAX) return;
    const from = this.#text.length - OUTPUT_CHARS_MAX / 2;
    this.#text = this.#text.slice(this.#text.indexOf('\n', from) + 1);
    this.#isCut = true;
  }

  get text(): string {
    return this.#isCut ? `… earlier output left out\n${this.#text}` : this.#text;
  }
}
