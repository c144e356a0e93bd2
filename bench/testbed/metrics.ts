import type { HttpClient } from '../../src/ports/http.ts';

const ANSWER_TIMEOUT_MS = 60_000;
const SAMPLE = /^(\w+)(\{[^}]*\})? ([^ ]+)$/;

/** The metrics of a role, as its `/metrics` has them: by name and labels as written there (`name{kind="beat"}`). */
export async function readMetrics(http: HttpClient, roleUrl: string): Promise<ReadonlyMap<string, number>> {
  const url = `${roleUrl}/metrics`;
  const { body } = await http.call({ method: 'GET', url, timeoutMs: ANSWER_TIMEOUT_MS });
  const samples = new Map<string, number>();
  for (const line of String(body).split('\n')) {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name !== undefined) samples.set(name + labels, Number(value));
  }
  return samples;
}
