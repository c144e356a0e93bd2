import { expect, it } from 'vitest';
import { OUTPUT_CHARS_MAX, PlainOutput } from '../../../../page/figures/plain-output.ts';

it('28 output is shown as text: no colours, no control characters, characters whole wherever they were cut', () => {
  const output = new PlainOutput();
  const bytes = new TextEncoder().encode('\u001b[31mrot\u001b[0m é✓\u0000\u0007\r\n<b>no</b>\n');
  for (const byte of bytes) if (byte !== 0x1b) output.push(Uint8Array.of(byte));
  expect(output.text).toContain('é✓\n<b>no</b>\n');
  const whole = new PlainOutput();
  whole.push(bytes);
  expect(whole.text).toBe('rot é✓\n<b>no</b>\n');
});

it('28 endless output stays bounded, is cut at a line, and says so', () => {
  const output = new PlainOutput();
  const line = new TextEncoder().encode(`${'x'.repeat(99)}\n`);
  for (let n = 0; n < (3 * OUTPUT_CHARS_MAX) / 100; n++) output.push(line);
  expect(output.text.length).toBeLessThanOrEqual(OUTPUT_CHARS_MAX + 100);
  const [first, second] = output.text.split('\n');
  expect(first).toContain('earlier output left out');
  expect(second).toBe('x'.repeat(99));
});
