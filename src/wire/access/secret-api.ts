import type { Secret } from '../../core/access/secret.ts';

/**
 * The monitor's API about secrets, which come to it sealed.
 *
 *   GET    /v1/secrets?namespace              → SecretListAnswer, of the namespaces that the caller sees
 *   GET    /v1/secrets-key                    → HostKeyAnswer; 404 `no-host-key` where the monitor has none
 *   PUT    /v1/secrets/:namespace/:name       SecretRequest → 204; takes the place of one that was there
 *   DELETE /v1/secrets/:namespace/:name       → 204 | 404 `no-such-secret`
 */
export interface SecretRequest {
  readonly sealed: string;
}

/** A secret without what is sealed. */
export type SecretStatus = Omit<Secret, 'sealed'>;

export interface SecretListAnswer {
  readonly secrets: readonly SecretStatus[];
}

export interface HostKeyAnswer {
  /** Of the cell, which is part of what a secret is sealed for. */
  readonly cell: string;
  /** Of the key to which secrets are sealed, as PEM. */
  readonly certificate: string;
}
