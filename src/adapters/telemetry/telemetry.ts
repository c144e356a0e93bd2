/**
 * The log of a role: JSON lines without secrets (`redact.ts`), written synchronously, so that the last lines of a process
 * that dies are not lost, none longer than 2 kB (`bounded.ts`), whatever somebody sends. `silent.ts` writes nothing, for tests and simulations.
 *
 * `metrics.ts` has its metrics, `exemplars.ts` examples of them, and `open-metrics.ts` writes both; `tracing.ts` says whether
 * traces are recorded, and `tracer.ts` does so, over OpenTelemetry.
 */
import pino from 'pino';
import type { Log, LogFields } from '../../ports/telemetry.ts';
import { bounded } from './bounded.ts';
import { redact } from './redact.ts';

export interface PinoLogOptions {
  /** The role: `scheduler`, `agent`; in every line. */
  readonly component: string;
  /** The role's id, in every line. */
  readonly id?: string;
  readonly level?: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** A file to append to; standard error when absent, since standard output belongs to results. */
  readonly file?: string;
}

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
  const faultStacks = logger.isLevelEnabled('debug');
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: LogFields, message: string) => {
    if (logger.isLevelEnabled(level)) {
      const { fields: short, message: text } = bounded(
        redact(fields, faultStacks) as LogFields,
        redact(message) as string,
        faultStacks,
      );
      logger[level](short, text);
    }
  };
  return {
    isDebug: faultStacks,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}
