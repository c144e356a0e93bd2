import { readDuration } from '../../src/wire/values/units.ts';
import { usageError } from '../command/exit.ts';

/** The value of `--timeout`. @throws CliError */
export function readTimeout(verb: string, text: string): number {
  const reading = readDuration(text);
  if (reading.ok && reading.value > 0) return reading.value;
  throw usageError(
    `--timeout: ${reading.ok ? 'must be more than 0' : reading.text}`,
    `moorage ${verb} --help`,
  );
}
