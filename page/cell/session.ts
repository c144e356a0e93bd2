/** For as long as this tab is open, and for this origin alone. */
const KEY = 'moorage-token';

export function heldToken(): string | null {
  return sessionStorage.getItem(KEY);
}

/** @param token null forgets it */
export function holdToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, token);
}
