import pino from 'pino';
import type { Log, LogFields } from '../../ports/telemetry.ts';
import { redact } from './redact.ts';

export interface PinoLogOptions {
  /** Which role speaks: `scheduler`, `agent`; in every line as `component`. */
  readonly component: string;
  /** The role's id, in every line. */
  readonly id?: string;
  readonly level?: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** A file to append to; standard error when absent, since standard output belongs to results. */
  readonly file?: string;
}

/**
 * JSON lines with secrets taken out. Written at once, so that the last words of a process that dies are there.
 */
export function pinoLog(options: PinoLogOptions): Log {
  const base = options.id === undefined ? {} : { id: options.id };
  const destination = pino.destination({ dest: options.file ?? 2, sync: true, append: true, mkdir: true });
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: { component: options.component, ...base },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  const say = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: LogFields, message: string) => {
    if (logger.isLevelEnabled(level)) logger[level](redact(fields), redact(message) as string);
  };
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
}
