/** Where the page begins in a browser. */
import { render } from 'preact';
import { holdToken } from './cell/session.ts';
import { tokenIn } from './figures/route.ts';
import { Page } from './page.tsx';

// A link may bring a token. It goes from the address at once: neither the history nor a copied address has it.
const token = tokenIn(location.hash);
if (token !== null) {
  holdToken(token);
  history.replaceState(null, '', location.pathname);
}

const root = document.getElementById('page');
if (root !== null) render(<Page />, root);
