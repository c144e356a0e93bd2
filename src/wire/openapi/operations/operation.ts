import type { z } from 'zod';

/** What the document says of one route, beyond its method, path and right. */
export interface Operation {
  /** A sentence without its full stop. */
  readonly summary: string;
  /** The shape that its body is checked by. */
  readonly body?: z.ZodType | 'JobFile' | 'JobFiles';
  /** A body that it takes. */
  readonly example?: unknown;
  readonly query?: readonly Parameter[];
  readonly headers?: readonly Parameter[];
  readonly answers: readonly Answer[];
  /** Codes of its own, by status; those that every route may answer stand once for all. */
  readonly errors?: Readonly<Record<number, readonly string[]>>;
}

export interface Parameter {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean';
  readonly says: string;
  readonly required?: true;
}

export interface Answer {
  readonly status: number;
  /** Default `application/json`; null: there is no body. */
  readonly type?: string | null;
  /** The type of the body, as `import type` of the package names it; or what it is. */
  readonly of: string;
}

export const text = (name: string, says: string): Parameter => ({ name, type: 'string', says });
export const count = (name: string, says: string): Parameter => ({ name, type: 'integer', says });
export const flag = (name: string, says: string): Parameter => ({ name, type: 'boolean', says });

export const NAMESPACE = text('namespace', 'of this namespace only');
export const JOB = text('job', 'of this job only');
/** Of a list that may be asked for in parts. */
export const PAGE: readonly Parameter[] = [
  count('limit', 'so many at most, 1 to 10,000; then `next` says how to go on'),
  text('cursor', 'goes on after an earlier answer: its `next`'),
];
export const ok = (of: string): readonly Answer[] => [{ status: 200, of }];
export const NOTHING: Answer = { status: 204, type: null, of: 'done, also when there was none' };
export const plain = (of: string): Answer => ({ status: 200, type: 'text/plain', of });

export const NO_JOB = { 404: ['no-such-job'] };
export const BAD = { 400: ['bad-request'] };
export const UNSURE = { 503: ['outcome-unknown'] };

/** A new version of a job, made of what is there. */
export const RENEWED: readonly Answer[] = [
  { status: 201, of: 'SubmitAnswer' },
  { status: 200, of: 'SubmitAnswer, when nothing changed' },
];
