export interface JobRef {
  readonly namespace: string;
  readonly job: string;
}

/** Of a job, without a slash at the end. */
export function pathOf({ namespace, job }: JobRef): string {
  return `/v1/jobs/${encodeURIComponent(namespace)}/${encodeURIComponent(job)}`;
}

export interface SecretRef {
  readonly namespace: string;
  readonly name: string;
}

export function pathOfSecret({ namespace, name }: SecretRef): string {
  return `/v1/secrets/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** Leaves out what is undefined; empty without anything. */
export function query(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
